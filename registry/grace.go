package registry

import (
	"maps"
	"time"
)

// leaseGrace is how long the leases of an owner stay suspended without a host.
const leaseGrace = time.Minute

// armLocked sets the one timer to the next thing that is due: a lost owner's
// grace, suspended leases, settlements that the store refused.
func (r *Registry) armLocked() {
	r.disarmLocked()
	if r.phase == closed {
		return
	}
	var next time.Time
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	if !r.retryAt.IsZero() {
		sooner(r.retryAt)
	}
	if r.phase == open {
		grace := r.grace().Owner
		for _, o := range r.lost {
			if !o.lapsed {
				sooner(o.lostAt.Add(grace))
			}
			if back := o.awayAt.Add(leaseGrace); r.suspendedLocked(o) {
				if back.Before(r.retryAt) { // the store refused that
					back = r.retryAt
				}
				sooner(back)
			}
		}
	}
	if next.IsZero() {
		return
	}
	r.wg.Add(1)
	r.timer = time.AfterFunc(max(0, next.Sub(r.now())), r.tick)
}

// disarmLocked stops the timer; a tick that has begun goes on.
func (r *Registry) disarmLocked() {
	if r.timer != nil && r.timer.Stop() {
		r.wg.Done()
	}
	r.timer = nil
}

// Rearm recomputes the timer after [Options.Grace] changed.
func (r *Registry) Rearm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.armLocked()
}

// suspendedLocked reports whether leases of the owner wait for its host.
func (r *Registry) suspendedLocked(o *owner) bool {
	for _, rec := range o.leased {
		if r.lenders[rec.Lease] == nil {
			return true
		}
	}
	return false
}

// tick does what is due. It runs in the timer's goroutine, for which Close
// waits.
func (r *Registry) tick() {
	defer r.wg.Done()
	r.mu.Lock()
	if r.phase == closed {
		r.mu.Unlock()
		return
	}
	if !r.now().Before(r.retryAt) {
		r.retryAt = time.Time{}
		r.retryLocked()
	}
	var lapsed []*owner
	if r.phase == open {
		lapsed = r.lapsedLocked()
	}
	r.unlock()
	for _, o := range lapsed {
		r.lapse(o)
	}
	r.mu.Lock()
	r.armLocked()
	r.unlock()
}

// retryLaterLocked has what the store refused tried again, soon and not at once.
func (r *Registry) retryLaterLocked() {
	if r.retryAt.IsZero() {
		r.retryAt = r.now().Add(retryAfter)
	}
	r.armLocked()
}

// retryLocked tries the kills and settlements again that the store refused.
func (r *Registry) retryLocked() {
	for _, rec := range maps.Clone(r.late) {
		if r.recordStopLocked(rec, rec.late.agent, rec.late.user) == nil {
			r.endLateLocked(rec)
		} else {
			r.retryLaterLocked()
		}
	}
	// A copy: what fails again files itself anew.
	for row, o := range maps.Clone(r.pending) {
		delete(r.pending, row)
		if rec := r.rows[row]; rec != nil && !rec.Status.Terminal() {
			r.settleLocked(rec, o)
		}
	}
}

// lapsedLocked takes back what was suspended too long and gives the owners
// whose grace is over.
func (r *Registry) lapsedLocked() []*owner {
	now, grace := r.now(), r.grace().Owner
	var lapsed []*owner
	r.takeBackLocked(func(rec *record) bool {
		o := rec.owner
		return o.host == nil && r.lenders[rec.Lease] == nil && !now.Before(o.awayAt.Add(leaseGrace))
	})
	for _, o := range r.lost {
		if !o.lapsed && !now.Before(o.lostAt.Add(grace)) {
			o.lapsed = true
			lapsed = append(lapsed, o)
		}
	}
	return lapsed
}

// lapse cancels what still lives of an owner whose host did not come back in
// time. Its tasks stay unreported, and it may still come back for them. One
// that never had a name nor a task is gone.
func (r *Registry) lapse(o *owner) {
	r.mu.Lock()
	back := o.host != nil || o.disposed != nil
	victims := ordered(o.live)
	if !back && o.Session == "" && len(o.live)+len(o.starting)+len(o.finished) == 0 {
		t := r.transitionLocked()
		t.change.DropOwners = []Handle{o.Handle}
		t.then(func() { r.removeOwnerLocked(o) })
		if err := t.commit(); err != nil {
			r.log.Error("an owner that is gone could not be forgotten", "owner", o.Handle, "error", err)
		}
	}
	r.unlock()
	if back {
		return
	}
	r.teardown(r.life, victims, teardownRules{reason: causeLost, cause: causeLost})
	r.endLeftovers(o)
}
