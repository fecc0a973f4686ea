package registry

import "time"

// retryAfter is how long waits what the store refused: settlements, leases that come back.
const retryAfter = time.Second

// Settle commits the end of a task; the first outcome wins (T59). Called
// during the task's start it is held until the id is committed (T66). It has
// no error: what the store refuses (a full disk) is tried again until it
// works, and the task is live until then.
func (r *Registry) Settle(row Row, o Outcome) {
	r.mu.Lock()
	defer r.unlock()
	rec := r.rows[row]
	if rec == nil || rec.Status.Terminal() || r.phase == closed { // after the end the next daemon finds out itself
		return
	}
	if rec.failing {
		r.abandonedLocked(rec)
		return
	}
	if rec.Starting {
		if rec.held == nil {
			rec.held = &o
		}
		return
	}
	if _, later := r.pending[row]; !later {
		r.settleLocked(rec, o)
	}
}

// settleLocked makes one settlement in the order of T60.
func (r *Registry) settleLocked(rec *record, o Outcome) {
	if o.EndedAt == 0 {
		o.EndedAt = r.millis() // now, also when it must be tried again
		if o.RanMs == 0 && !rec.began.IsZero() {
			o.RanMs = r.now().Sub(rec.began).Milliseconds()
		}
	}
	t := r.transitionLocked()
	next := r.endedLocked(rec, o, t.nextSeq())
	waiting := rec.waitingLocked()
	t.then(func() { rec.claims += reporters(waiting) })
	t.put(rec, next)
	t.announce(&next)
	if err := t.commit(); err != nil {
		r.refusedLocked("the end of a task could not be recorded; trying again", rec, err)
		r.pending[rec.row] = o
		r.retryLaterLocked()
		return
	}
	delete(r.pending, rec.row)
	snapshot := rec.snapshotLocked()
	rec.waiters = nil
	for _, w := range waiting {
		w.result = &snapshot
		w.release()
	}
	signal(&rec.owner.settled)
	r.announceLocked(rec.owner)
	if r.phase != open { // T80
		return
	}
	r.completeLocked(rec.owner, snapshot)
	if rec.dueLocked() {
		r.ringLocked(rec.owner)
	}
}

// endedLocked is the record after an outcome.
func (r *Registry) endedLocked(rec *record, o Outcome, seq int64) Record {
	if !o.Status.Terminal() {
		r.log.Error("a producer settled a task with a status that is no end", "task", rec.ID, "status", o.Status)
		detail := "the producer gave no valid outcome"
		o = Outcome{Status: Failed, Detail: &detail, EndedAt: o.EndedAt}
	}
	next := rec.Record
	next.Status, next.Detail = o.Status, plainDetail(o.Detail)
	next.ExitCode, next.Signal, next.TimedOut = o.ExitCode, o.Signal, o.TimedOut
	// A clock that was set back must not end a task before its start (T104), and
	// no step of it changes how long one took.
	next.FinishedAt = max(o.EndedAt, next.StartedAt)
	if o.RanMs > 0 {
		next.FinishedAt = next.StartedAt + o.RanMs
	}
	next.Ended = seq
	if next.Cause == "" && rec.Status == Running && (rec.late.user || rec.byUser > 0 && !rec.late.agent) {
		next.Cause = causeUser // the kill is on its way (T43)
	}
	if next.Status == Killed && next.Cause != "" {
		cause := next.Cause
		next.Detail = &cause
	}
	if rec.owner.inboxLocked() {
		next.Notice = Waiting
	}
	return next
}

// Details of tasks that were cancelled by somebody but their owner.
const (
	causeUser   = "killed by the user"
	causeLost   = "owner lost"
	causeDaemon = "daemon stopped"
)

// Changed announces that a producer's [Facts] of a task changed.
func (r *Registry) Changed(row Row) {
	r.mu.Lock()
	defer r.unlock()
	rec := r.rows[row]
	if rec == nil || rec.Starting || r.phase == closed {
		return
	}
	t := r.transitionLocked()
	t.announce(&rec.Record)
	if err := t.commit(); err != nil {
		r.log.Error("a change could not be recorded for observers", "task", rec.ID, "error", err)
		return
	}
	r.announceLocked(rec.owner)
}
