package registry

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"time"

	"sidetask/scope"
)

var errProvisional = errors.New("not built yet")

// Options are what a registry needs. Store, Limit, Serves and Grace are required.
type Options struct {
	Store  Store
	Log    *slog.Logger          // nil = discard
	Limit  func() int64          // limits.maxConcurrentTasksPerOwner, asked at each start
	Serves func(scope.Path) bool // whether an enabled mount serves owners at that scope (T9, T88, T89)
	Grace  func() Grace          // asked at each use
	Now    func() time.Time      // nil = time.Now
}

// Grace are the times that the registry gives others.
type Grace struct {
	Owner time.Duration // owners.graceMs: for a lost host to come back
	Stop  time.Duration // commands.stopGraceMs: teardowns wait this and 2 s more
}

// Registry holds all tasks and owners. All methods may be called at any time
// from any goroutine.
type Registry struct{}

// Open loads what the store has. No producer runs yet; all hosts are away.
func Open(o Options) (*Registry, error) { return nil, errProvisional }

// AddProducer names a producer; before its Recover and the first start.
func (r *Registry) AddProducer(name string, p Producer) {}

// Recovered is a row that had not ended when the last daemon did.
type Recovered struct {
	Task     Task
	Starting bool   // no id: Adopt or Drop it
	Cause    string // why it was being cancelled; "" where nobody asked but perhaps the owner (Task.Status says Stopping)
}

// Unsettled gives the live and `starting` rows of a producer, for its recovery.
func (r *Registry) Unsettled(producer string) []Recovered { return nil }

// Rows gives all rows that the registry knows of a producer: what lies on disk
// for another row is nobody's.
func (r *Registry) Rows(producer string) map[Row]bool { return nil }

// Adopt gives a `starting` row whose work lives (or ended) its id.
func (r *Registry) Adopt(row Row) (Task, error) { return Task{}, errProvisional }

// Drop forgets a `starting` row whose work never began.
func (r *Registry) Drop(row Row) error { return errProvisional }

// Settle commits the end of a task; the first outcome wins (T59). Called
// during the task's start it is held until the id is committed (T66).
func (r *Registry) Settle(row Row, o Outcome) {}

// Changed announces that a producer's [Facts] of a task changed.
func (r *Registry) Changed(row Row) {}

// Spec is what a start asks for (T3).
type Spec struct {
	Kind        string
	Label       string
	OutputLimit any // nil = none; else a JSON value as it was given, checked by T11
	Stream      bool
	Shared      bool   // unowned: the operator only
	Key         string // idempotency: the same key of the same owner gives the same task
	Producer    string // name under which it was added
}

// Start admits a task and runs it (T8 to T17).
func (r *Registry) Start(ctx context.Context, c Caller, s Spec, run func(Row) error) (Task, error) {
	return Task{}, errProvisional
}

// Get is a snapshot; it changes nothing (T26).
func (r *Registry) Get(c Caller, id string) (Task, error) { return Task{}, errProvisional }

// List gives the live tasks, with all also the finished ones, in the order of
// their registration. An owner sees its own and the unowned (T24), the
// operator all.
func (r *Registry) List(c Caller, all bool) []Task { return nil }

// Facts asks the task's producer what it knows now.
func (r *Registry) Facts(t Task) Facts { return Facts{} }

// Kill asks the work to stop (T37 to T43). already: it had ended before, and
// its leftovers have been ended.
func (r *Registry) Kill(ctx context.Context, c Caller, id string, reason *string) (already bool, t Task, err error) {
	return false, Task{}, errProvisional
}

// CheckWait makes the checks of a wait (T44 to T46) and does not wait.
func (r *Registry) CheckWait(c Caller, id string, ms float64) error { return errProvisional }

// Wait waits for the end of a task (T44 to T58).
func (r *Registry) Wait(ctx context.Context, c Caller, id string, ms float64) (Task, *Receipt, error) {
	return Task{}, nil, errProvisional
}

// WaitMatch is a wait that also ends when new output matches.
func (r *Registry) WaitMatch(ctx context.Context, c Caller, id string, ms float64, until *regexp.Regexp) (Task, *Receipt, error) {
	return Task{}, nil, errProvisional
}

// WaitValueError is the error for a wait time that is no number at all; got is its JSON.
func WaitValueError(got string) *Error { return nil }

// Read gives the new output (T31 to T36).
func (r *Registry) Read(ctx context.Context, c Caller, id string, keep func(Task) int64, fromStart bool) (Reading, Task, *Receipt, error) {
	return Reading{}, Task{}, nil, errProvisional
}

// Tail reads raw output; it consumes nothing. Ended of the request is set here.
func (r *Registry) Tail(ctx context.Context, c Caller, id string, req TailRequest) (Tailed, error) {
	return Tailed{}, errProvisional
}

// Write gives input to a task.
func (r *Registry) Write(ctx context.Context, c Caller, id string, req WriteRequest) (int, error) {
	return 0, errProvisional
}

// Receipt is what becomes final when an answer has been delivered
// (ARCHITECTURE, decision 10). Exactly one of the two counts, the first; both
// are safe on nil. Whoever gets one must call one.
type Receipt struct{}

// Delivered makes report and cursor final.
func (r *Receipt) Delivered() {}

// Failed takes them back: the bytes come again, and the bell rings.
func (r *Receipt) Failed() {}

// Register makes the host the host of an owner.
func (r *Registry) Register(reg Registration, host Host) (Handle, error) { return "", errProvisional }

// Bind names an unnamed owner.
func (r *Registry) Bind(ctx context.Context, b Binding, host Host) (Handle, error) {
	return "", errProvisional
}

// HostGone says that a connection ended: its owners are lost, its leases
// suspended, or back where it was no host of the owner. Call it for every
// connection that registered or claimed.
func (r *Registry) HostGone(host Host) {}

// Update changes what is shown of an owner.
func (r *Registry) Update(h Handle, c OwnerChange) error { return errProvisional }

// Dispose ends an owner (T68 to T78): cancels its live tasks, waits for them
// (bounded), drops it and its records. It gives the ids that were cancelled.
func (r *Registry) Dispose(ctx context.Context, h Handle, reason string) ([]string, error) {
	return nil, errProvisional
}

// ByToken finds an owner at once, with a host or without.
func (r *Registry) ByToken(token string) (Handle, error) { return "", errProvisional }

// AwaitToken finds an owner that has a host, waiting up to 5 s for it.
func (r *Registry) AwaitToken(ctx context.Context, token string) (Handle, error) {
	return "", errProvisional
}

// Named finds an owner by its session; agent "" = whichever, if unambiguous.
func (r *Registry) Named(agent, session string) (Handle, error) { return "", errProvisional }

// Owner is a snapshot of an owner.
func (r *Registry) Owner(h Handle) (Owner, bool) { return Owner{}, false }

// Owners are snapshots of all, oldest first.
func (r *Registry) Owners() []Owner { return nil }

// OwnersOf are the owners whose host that is.
func (r *Registry) OwnersOf(host Host) []Handle { return nil }

// AbortWaits ends all waits that were made as that owner, with ErrWaitAborted.
func (r *Registry) AbortWaits(h Handle) {}

// Inbox gives the tasks whose notices are due, oldest end first.
func (r *Registry) Inbox(h Handle) []Task { return nil }

// AwaitInbox waits until a notice is due. When the deadline of ctx passes the
// list is empty; cancelled it is ErrWaitAborted.
func (r *Registry) AwaitInbox(ctx context.Context, h Handle) ([]Task, error) {
	return nil, errProvisional
}

// ClaimRules is what the mount that serves an owner says of claims.
type ClaimRules struct {
	Served   bool // a mount serves the owner
	Quiet    bool
	MaxWakes int64
}

// Claim is what a claim got.
type Claim struct {
	Tasks   []Task // oldest end first
	Lease   string // "" where nothing was taken
	Refused string // "", RefusedBudget, RefusedQuiet, RefusedEmpty
}

// Reasons of a claim and its refusals; the same values as on the wire.
const (
	ClaimWake    = "wake"
	ClaimTurnEnd = "turn-end"
	ClaimUser    = "user"

	RefusedBudget = "budget"
	RefusedQuiet  = "quiet"
	RefusedEmpty  = "empty"
)

// Claim takes the notices that are due, for a turn (ARCHITECTURE, decision 6).
func (r *Registry) Claim(h Handle, reason string, take bool, rules ClaimRules, by Host) (Claim, error) {
	return Claim{}, errProvisional
}

// Ack says that the agent has the notices of a lease. One not held is no error.
func (r *Registry) Ack(h Handle, lease string) error { return errProvisional }

// Release gives the notices of a lease back.
func (r *Registry) Release(h Handle, lease string, park bool) error { return errProvisional }

// OnDone listens to ends of tasks of owners at or below a scope (T60 to T67, T87, T88).
func (r *Registry) OnDone(at scope.Path, fn func(Task)) (remove func()) { return func() {} }

// OnChange listens to changes of owners' visible tasks (T100 to T103).
func (r *Registry) OnChange(at scope.Path, fn func(Handle)) (remove func()) { return func() {} }

// OnRing listens to "a notice of this owner waits (again)".
func (r *Registry) OnRing(fn func(Handle)) (remove func()) { return func() {} }

// Event is one entry of the change log.
type Event struct {
	Seq     int64
	Task    Task // as it was then; of a removed task only ID, Owner, Scope
	Removed bool
}

// Subscription follows the change log.
type Subscription struct {
	Seq   int64  // where it stands at first
	Tasks []Task // the state at Seq; nil for one that continues
	Reset bool   // the log does not reach back to since: this is the state now
}

// Subscribe follows the changes that the caller may see at or below a scope:
// from the state now, or after since.
func (r *Registry) Subscribe(c Caller, at scope.Path, since *int64) (*Subscription, error) {
	return nil, errProvisional
}

// Next waits for the next event. ErrLagged: the subscriber was too slow.
func (s *Subscription) Next(ctx context.Context) (Event, error) { return Event{}, errProvisional }

// Close ends the subscription; a waiting Next returns ErrWaitAborted.
func (s *Subscription) Close() {}

// Counts counts tasks by what they do.
type Counts struct {
	Starting, Running, Stopping, Finished int
	Owners                                int
}

// Counts says how many there are now.
func (r *Registry) Counts() Counts { return Counts{} }

// Retention bounds what is kept of finished tasks; zero fields bound nothing.
type Retention struct {
	Age   time.Duration // older ones go
	Tasks int64
	Bytes int64 // of Facts.Disk
	// Lost protects notices and owners whose host has been away for less than
	// this (retention.days).
	Lost time.Duration
}

// Prune removes finished tasks, oldest first, and owners that are long gone.
func (r *Registry) Prune(keep Retention) (removed int, freed int64, err error) {
	return 0, 0, errProvisional
}

// Rearm recomputes timers after Options.Grace changed.
func (r *Registry) Rearm() {}

// Shutdown refuses starts, aborts waits, cancels what lives (or keeps it), and
// closes the store.
func (r *Registry) Shutdown(ctx context.Context, cancel bool) error { return errProvisional }
