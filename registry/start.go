package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

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

// anyKind counts for kinds that have no counter of their own yet; no kind is
// empty. See [Registry.Seen].
const anyKind = ""

// Start admits a task and runs it (T8 to T17). The row is committed first, then
// run is called with it, outside the lock and at most once (T16), then the id
// is committed. What run returns comes back unchanged, and nothing is left of
// the task (T15). A start of a key that is known gives that task, whatever has
// become of it.
func (r *Registry) Start(ctx context.Context, c Caller, s Spec, run func(Row) error) (Task, error) {
	if len(s.Key) > maxKey {
		return Task{}, Errorf(KindInvalid, "invalid key: %d bytes, at most %d", len(s.Key), maxKey)
	}
	r.mu.Lock()
	rec, known, err := r.reserveLocked(ctx, c, s)
	r.unlock()
	if err != nil || known != nil {
		if known != nil {
			return *known, nil
		}
		return Task{}, err
	}
	if err := run(rec.row); err != nil {
		r.mu.Lock()
		defer r.unlock()
		r.dropStartLocked(rec)
		return Task{}, err
	}
	t, err := r.register(rec)
	if err != nil {
		r.abandon(rec, err)
	}
	return t, err
}

// reserveLocked makes the preflight in the order of T8 and commits the row. It
// gives the lock up while a start of the same key is under way.
func (r *Registry) reserveLocked(ctx context.Context, c Caller, s Spec) (*record, *Task, error) {
	for {
		if r.phase != open {
			return nil, nil, ErrShuttingDown
		}
		o, err := r.payerLocked(c, s)
		if err != nil {
			return nil, nil, err
		}
		if same := o.keys[s.Key]; s.Key != "" && same != nil {
			if !same.Starting {
				t := same.snapshotLocked()
				return nil, &t, nil
			}
			if err := r.awaitStartLocked(ctx, same); err != nil {
				return nil, nil, err
			}
			continue
		}
		limit, err := r.preflightLocked(o, s)
		if err != nil {
			return nil, nil, err
		}
		if ctx.Err() != nil { // T188: aborted before anything began
			return nil, nil, ErrWaitAborted
		}
		rec, err := r.commitStartLocked(o, s, limit)
		return rec, nil, err
	}
}

// payerLocked is the owner of the task to be.
func (r *Registry) payerLocked(c Caller, s Spec) (*owner, error) {
	h, agent := c.Owner()
	switch {
	case agent && s.Shared:
		return nil, Errorf(KindUnauthorized, "only the operator may start a task that every agent sees")
	case agent:
		return r.ownerLocked(h)
	case s.Shared:
		return r.owners[Nobody], nil
	}
	return r.owners[OperatorHandle], nil
}

func (r *Registry) awaitStartLocked(ctx context.Context, rec *record) error {
	started := rec.started
	r.unlock()
	defer r.mu.Lock()
	select {
	case <-started:
		return nil
	case <-ctx.Done():
		return ErrWaitAborted
	}
}

// preflightLocked checks what may refuse a start, in the order of T8.
func (r *Registry) preflightLocked(o *owner, s Spec) (limit int64, err error) {
	if o.Handle != OperatorHandle && !r.serves(o.Scope) {
		return 0, Errorf(KindNoController, "%s", ErrNoController.Message)
	}
	if s.Kind == "" {
		return 0, Errorf(KindInvalid, "invalid task kind: expected a non-empty string")
	}
	if err := checkLabel(s.Label); err != nil {
		return 0, err
	}
	if limit, err = outputLimit(s.OutputLimit); err != nil {
		return 0, err
	}
	if o.inboxLocked() && (o.host == nil || o.disposed != nil) {
		return 0, Errorf(KindOwnerGone, "%s", ErrOwnerGone.Message)
	}
	if r.producers[s.Producer] == nil {
		return 0, missing(s.Producer).err()
	}
	most := r.limit()
	if o.Handle != OperatorHandle && int64(len(o.live)+len(o.starting)) >= most {
		return 0, Errorf(KindLimitReached, "background task limit reached for this owner (limit: %d); use task_kill to stop an unneeded task, wait for it to finish, then retry", most)
	}
	return limit, nil
}

func (r *Registry) commitStartLocked(o *owner, s Spec, limit int64) (*record, error) {
	rec := &record{row: r.nextRow, owner: o, began: r.now(), started: make(chan struct{})}
	next := Record{
		Task: Task{
			Row: r.nextRow, Kind: s.Kind, Label: s.Label, OutputLimit: limit, Owner: o.Handle, Scope: o.Scope,
			Producer: s.Producer, Stream: s.Stream, Status: Running, StartedAt: r.millis(),
		},
		Starting: true, Key: s.Key,
	}
	t := r.transitionLocked()
	t.put(rec, next)
	t.change.NextRow = r.nextRow + 1
	if err := t.commit(); err != nil {
		return nil, fmt.Errorf("the task was not started: %w", err)
	}
	r.rows[rec.row] = rec
	return rec, nil
}

// register gives a row that runs its id (T17), and commits an end that came
// meanwhile (T66).
func (r *Registry) register(rec *record) (Task, error) {
	r.mu.Lock()
	defer r.unlock()
	if rec.gone {
		return Task{}, Errorf(KindOwnerGone, "the owner was disposed while the task started")
	}
	last, known := r.counters[rec.Kind]
	if !known {
		last = r.counters[anyKind]
	}
	n := last + 1
	t := r.transitionLocked()
	next := rec.Record
	next.ID, next.Starting, next.Registered = rec.Kind+"-"+strconv.FormatInt(n, 10), false, t.nextSeq()
	t.put(rec, next)
	t.announce(&next)
	t.change.Counters = map[string]int64{rec.Kind: n}
	if err := t.commit(); err != nil {
		if errors.Is(err, ErrShuttingDown) { // who is told so makes the call again, and this one has run
			return Task{}, Errorf(KindProducerFailed, "the task was stopped, it could not be recorded: %v", err)
		}
		return Task{}, fmt.Errorf("the task was stopped, it could not be recorded: %w", err)
	}
	r.startedLocked(rec)
	r.announceLocked(rec.owner)
	snapshot := rec.snapshotLocked()
	if held := rec.held; held != nil {
		rec.held = nil
		r.settleLocked(rec, *held)
	}
	return snapshot, nil
}

// startedLocked wakes who waits for the end of a start.
func (r *Registry) startedLocked(rec *record) {
	signal(&rec.started)
	signal(&rec.owner.settled)
}

// dropStartLocked forgets a row that never ran. Where the store refuses even
// that, it is told again with the next commit.
func (r *Registry) dropStartLocked(rec *record) {
	if !rec.gone {
		t := r.transitionLocked()
		t.drop(rec)
		if err := t.commit(); err != nil {
			r.log.Error("a start that failed could not be taken back yet", "row", rec.row, "error", err)
			r.orphans = append(r.orphans, rec.row)
			r.forgetLocked(rec)
		}
	}
	delete(r.rows, rec.row) // one whose owner was disposed is still there (keepStartLocked)
	r.startedLocked(rec)
}
