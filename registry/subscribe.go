package registry

import (
	"context"

	"sidetask/scope"
)

// Event is one entry of the change log.
type Event struct {
	Seq     int64
	Task    Task // as it was then; of a removed task only ID, Owner and Scope
	Removed bool
}

// Subscription follows the change log. It keeps nothing but its place in it.
type Subscription struct {
	Seq   int64  // where it stood at first
	Tasks []Task // the state at Seq; nil for one that continues after since
	Reset bool   // the log does not reach back to since: Tasks is the state now

	r      *Registry
	caller Caller
	at     scope.Path
	next   int64 // Seq of the next entry to look at
	closed chan struct{}
	over   bool
}

// Subscribe follows the changes that the caller may see, of tasks whose scope
// is at or below at: from the state now, or after since (ARCHITECTURE,
// decision 8). None is lost and none comes twice; of a task that went long ago
// only its removal comes.
func (r *Registry) Subscribe(c Caller, at scope.Path, since *int64) (*Subscription, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase >= drained {
		return nil, ErrShuttingDown
	}
	s := &Subscription{Seq: r.seq, r: r, caller: c, at: at, closed: make(chan struct{})}
	reaches := since != nil && *since >= r.changes.first()-1 && *since <= r.seq
	if reaches {
		s.Seq = *since
	} else {
		s.Reset = since != nil
		s.Tasks = r.stateLocked(c, at)
	}
	s.next = s.Seq + 1
	r.changes.readers++
	return s, nil
}

func (r *Registry) stateLocked(c Caller, at scope.Path) []Task {
	sets := make([]map[Row]*record, 0, 2*len(r.owners))
	for h, o := range r.owners {
		if r.seesLocked(c, h) {
			sets = append(sets, o.live, o.finished)
		}
	}
	tasks := []Task{}
	for _, rec := range ordered(sets...) {
		if at.Contains(rec.Scope) {
			tasks = append(tasks, rec.snapshotLocked())
		}
	}
	return tasks
}

// Next waits for the next event. [ErrLagged]: the subscriber was too slow, and
// the log does not reach back to its place any more. [ErrWaitAborted]: ctx
// ended, or the subscription did.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	r := s.r
	for {
		r.mu.Lock()
		if s.over || r.phase >= drained {
			r.mu.Unlock()
			return Event{}, ErrWaitAborted
		}
		if s.next < r.changes.first() {
			r.mu.Unlock()
			return Event{}, ErrLagged
		}
		event, found := s.scanLocked()
		grown := r.changes.grown
		r.mu.Unlock()
		if found {
			return event, nil
		}
		select {
		case <-grown:
		case <-s.closed:
			return Event{}, ErrWaitAborted
		case <-ctx.Done():
			return Event{}, ErrWaitAborted
		}
	}
}

// scanLocked finds the next entry that is the subscriber's business.
func (s *Subscription) scanLocked() (Event, bool) {
	log := &s.r.changes
	for s.next <= log.last {
		e := log.entries[s.next-log.first()]
		s.next++
		if event, ok := s.eventLocked(e); ok {
			return event, true
		}
	}
	return Event{}, false
}

func (s *Subscription) eventLocked(e LogEntry) (Event, bool) {
	if e.Removed != nil {
		gone := Task{Row: e.Row, ID: e.Removed.ID, Owner: e.Removed.Owner, Scope: e.Removed.Scope}
		return Event{Seq: e.Seq, Task: gone, Removed: true}, s.r.seesLocked(s.caller, gone.Owner) && s.at.Contains(gone.Scope)
	}
	t, known := s.r.changes.gone[e.Row]
	if rec := s.r.rows[e.Row]; rec != nil {
		t, known = rec.snapshotLocked(), true
	}
	if !known || !s.r.seesLocked(s.caller, t.Owner) || !s.at.Contains(t.Scope) {
		return Event{}, false // its removal follows in the log, or it is not theirs
	}
	if e.Status != t.Status { // what belongs to a later status was not known then
		t.ExitCode, t.Signal, t.TimedOut, t.Reported = nil, "", false, false
	}
	t.Status, t.Detail, t.FinishedAt = e.Status, e.Detail, e.FinishedAt
	return Event{Seq: e.Seq, Task: t}, true
}

// Close ends the subscription; a waiting Next returns [ErrWaitAborted].
func (s *Subscription) Close() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	close(s.closed)
	s.r.changes.readers--
}
