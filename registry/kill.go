package registry

import "context"

// Kill asks the work to stop (T37 to T43). It never waits for the end and
// never makes one (T42). already: the task had ended before, and what it left
// running is ended now. An owner's kill is its report; the operator's takes no
// notice away.
func (r *Registry) Kill(ctx context.Context, c Caller, id string, reason *string) (already bool, t Task, err error) {
	ctx = context.WithoutCancel(ctx) // a caller that goes must not leave half a kill
	_, agent := c.Owner()
	r.mu.Lock()
	rec, err := r.findLocked(c, id)
	if err != nil {
		r.mu.Unlock()
		return false, Task{}, err
	}
	p := r.producerLocked(rec.Producer)
	if rec.Status.Terminal() {
		return r.killEndedLocked(rec, p, agent)
	}
	if agent {
		r.claimLocked(rec)
	} else {
		rec.byUser++
	}
	r.unlock()

	failed := p.Cancel(ctx, rec.row, reason)

	r.mu.Lock()
	defer r.unlock()
	if failed != nil { // T40
		r.killedLocked(rec, agent)
		return false, Task{}, producerFailed(failed)
	}
	if rec.gone {
		r.killedLocked(rec, agent)
		return false, rec.snapshotLocked(), nil
	}
	r.stopLocked(rec, agent)
	return false, rec.snapshotLocked(), nil
}

// killEndedLocked is a kill of a task that had ended (T39). It is called with the
// lock and gives it back.
func (r *Registry) killEndedLocked(rec *record, p Producer, agent bool) (bool, Task, error) {
	if agent && !rec.Reported {
		r.claimLocked(rec)
		r.stopLocked(rec, agent)
	}
	snapshot := rec.snapshotLocked()
	r.unlock()
	if _, err := p.EndLeftovers(rec.row); err != nil {
		return true, snapshot, producerFailed(err)
	}
	return true, snapshot, nil
}

// killedLocked ends what a kill holds while it asks the producer: an agent's has
// the notice claimed, the operator's is counted in byUser.
func (r *Registry) killedLocked(rec *record, agent bool) {
	if agent {
		r.unclaimLocked(rec)
	} else {
		rec.byUser--
	}
}

// lateKill is a kill that the producer has obeyed and the store has refused to
// record (a full disk must not keep anybody from killing what fills it). Asking
// cannot be taken back, so the kill counts: until a retry records it, an agent that
// killed is not told of the end once more, and the end is "killed by the user"
// where the operator asked first.
type lateKill struct {
	agent bool // its owner has been told
	user  bool // the operator was the first to ask
}

// stopLocked records that the producer has been asked, and then ends what the
// kill holds (killedLocked). A settlement that came meanwhile stays as it is (T43).
func (r *Registry) stopLocked(rec *record, agent bool) {
	late, asked := rec.late, rec.late != lateKill{} || rec.Status != Running
	err := r.recordStopLocked(rec, late.agent || agent, late.user || !agent && !asked)
	switch {
	case err == nil:
		r.killedLocked(rec, agent)
		r.endLateLocked(rec)
	case agent && !late.agent:
		rec.late.agent = true
	case !agent && !asked:
		rec.late.user = true
	default: // one of its kind waits already, or it adds nothing
		r.killedLocked(rec, agent)
	}
	if err != nil {
		r.refusedLocked("a kill could not be recorded; trying again", rec, err)
		if rec.late != (lateKill{}) {
			r.late[rec.row] = rec
			r.retryLaterLocked()
		}
	}
}

// endLateLocked ends what refused kills held: they are recorded now.
func (r *Registry) endLateLocked(rec *record) {
	late := rec.late
	rec.late = lateKill{}
	delete(r.late, rec.row)
	if late.agent {
		r.killedLocked(rec, true)
	}
	if late.user {
		r.killedLocked(rec, false)
	}
}

// recordStopLocked commits what kills have done.
func (r *Registry) recordStopLocked(rec *record, reported, byUser bool) error {
	next := rec.Record
	next.Reported = next.Reported || reported
	ended := rec.Status.Terminal()
	if ended && next.Reported == rec.Reported {
		return nil
	}
	t := r.transitionLocked()
	if !ended {
		if next.Status == Running && byUser {
			next.Cause = causeUser
		}
		next.Status = Stopping
		t.announce(&next)
	}
	t.put(rec, next)
	if err := t.commit(); err != nil {
		return err
	}
	if !ended {
		r.announceLocked(rec.owner)
	}
	return nil
}
