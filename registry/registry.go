package registry

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sidetask/scope"
)

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
// from any goroutine, also from listeners.
//
// Methods that need the lock end in Locked. Producers, hosts and listeners are
// called without it; the store, Limit, Serves and Grace are called with it.
type Registry struct {
	store  Store
	log    *slog.Logger
	limit  func() int64
	serves func(scope.Path) bool
	grace  func() Grace
	now    func() time.Time

	// life is the context of what the registry does on its own (a lost owner's
	// cancels); it ends with Shutdown's drain.
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup // the timer's goroutine and those that remove; Close waits for them

	// mu guards everything below, and the fields of record, owner, waiter and
	// Subscription.
	mu sync.Mutex

	producers    map[string]Producer
	rows         map[Row]*record    // every record, those without an id too, and starts whose owner is disposed
	ids          map[string]*record // those with an id
	live         map[Row]*record    // with an id and not terminal
	finished     int                // terminal ones
	starting     int                // without an id
	owners       map[Handle]*owner  // the operator's and nobody's too
	lost         map[Handle]*owner  // registered ones without a host
	names        map[name]*owner    // named ones
	tokens       map[tokenPrefix][]tokenEntry
	taken        [][32]byte        // tokens that are void since a takeover, oldest first
	aliases      map[Handle]Handle // of owners that were merged into another
	environments int64             // bytes of those of all owners
	lenders      map[string]Host   // leases of callers that are no host of the owner
	pending      map[Row]Outcome   // settlements that the store refused so far
	late         map[Row]*record   // kills that it refused
	trouble      error             // why the newest commit failed; nil where it did not
	failures     int               // commits that failed since the last that did not
	orphans      []Row             // rows that the store must still forget

	counters  map[string]int64
	nextRow   Row
	nextOwner int64
	seq       int64
	changes   changeLog

	done    scope.Table[*listener[Task]]
	changed scope.Table[*listener[Handle]]
	rings   scope.Table[*listener[Handle]] // all at the root

	queue    []func() // what listeners and hosts must still hear, in order
	draining bool     // somebody works on queue
	drained  chan struct{}

	timer    *time.Timer // the one timer; nil while nothing is due
	retryAt  time.Time   // when what the store refused is tried again; zero: nothing is
	phase    phase
	tells    bool          // the end cancels the live tasks, and the operator's waits are told so
	arrivals chan struct{} // closed when an owner gets a host, or at the end; nil: nobody waits
}

// phase is how far the end of the registry is.
type phase int

const (
	open     phase = iota
	stopping       // no start, no wait, no completion listener
	drained        // no subscription; what is on its way is still recorded
	closed         // the store is closed
)

// record is a task in memory: what is kept, and what is only of this process.
type record struct {
	row Row // set once, so that it can be read without the lock; all else is guarded by mu

	Record

	owner   *owner
	held    *Outcome      // settled before its id was committed
	gone    bool          // not in the registry any more
	failing bool          // its start could not be recorded: forgotten when it ends
	waiters []*waiter     // in the order they came
	claims  int           // receipts that are open and kills that are asking (see reportedLocked)
	byUser  int           // kills of the operator that are asking
	late    lateKill      // kills that the store refused so far
	started chan struct{} // closed when the start is over; nil after that
	ended   chan struct{} // closed when the end is committed; nil: nobody waits
	// Times that no step of the wall clock changes. Those of an earlier daemon are
	// gone; what the wall clock said when this one began stands for them.
	began time.Time // zero: an earlier daemon started it
	over  time.Time // zero while live

	readers [2]chan struct{} // one for the owner, one for the operator: nil = free, else closed when it gets free
}

// reportedLocked is the bit that everybody sees: whoever has a receipt that is still
// open, or asks the producer for a kill now, is committed to tell of the end.
func (rec *record) reportedLocked() bool { return rec.Reported || rec.claims > 0 }

// dueLocked reports whether the notice of the end waits for a claim.
func (rec *record) dueLocked() bool {
	return rec.owner.inboxLocked() && rec.Status.Terminal() && !rec.reportedLocked() &&
		(rec.Notice == Waiting || rec.Notice == Parked)
}

// endedLocked is closed once the end of the task is committed, or it is gone.
func (rec *record) endedLocked() <-chan struct{} {
	if rec.gone || rec.Status.Terminal() {
		return over
	}
	return await(&rec.ended)
}

// over is what whoever comes after an end waits on.
var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// snapshotLocked is the task as callers see it (T4).
func (rec *record) snapshotLocked() Task {
	t := rec.Task
	t.Reported = rec.Reported || rec.claims > 0 && rec.Status.Terminal()
	if rec.late != (lateKill{}) {
		t.Reported = t.Reported || rec.late.agent
		if t.Status == Running {
			t.Status = Stopping
		}
	}
	return t
}

// Open loads what the store has. No producer runs yet; all hosts are away.
func Open(o Options) (*Registry, error) {
	state, err := o.Store.Load()
	if err != nil {
		return nil, err
	}
	r := &Registry{
		store: o.Store, log: o.Log, limit: o.Limit, serves: o.Serves, grace: o.Grace, now: o.Now,
		producers: make(map[string]Producer),
		rows:      make(map[Row]*record, len(state.Tasks)),
		ids:       make(map[string]*record, len(state.Tasks)),
		live:      make(map[Row]*record),
		owners:    make(map[Handle]*owner),
		lost:      make(map[Handle]*owner),
		names:     make(map[name]*owner),
		tokens:    make(map[tokenPrefix][]tokenEntry),
		aliases:   make(map[Handle]Handle),
		lenders:   make(map[string]Host),
		pending:   make(map[Row]Outcome),
		late:      make(map[Row]*record),
		counters:  make(map[string]int64),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.restoreLocked(state)
	r.armLocked()
	return r, nil
}

// AddProducer names a producer; before its recovery and the first start.
func (r *Registry) AddProducer(name string, p Producer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.producers[name] = p
}

// millis is now as records have it.
func (r *Registry) millis() int64 { return r.now().UnixMilli() }

// producerLocked is the producer of that name; one that nobody added fails all calls.
func (r *Registry) producerLocked(name string) Producer {
	if p := r.producers[name]; p != nil {
		return p
	}
	return missing(name)
}

// producer is the producer of that name, without the lock.
func (r *Registry) producer(name string) Producer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.producerLocked(name)
}
