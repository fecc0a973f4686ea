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
	p := r.producerLocked(rec)
	if rec.Status.Terminal() {
		return r.killEnded(rec, p, agent)
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
	if !agent {
		rec.byUser--
	} else {
		defer r.unclaimLocked(rec)
	}
	if failed != nil { // T40
		return false, Task{}, producerFailed(failed)
	}
	if rec.gone {
		return false, rec.snapshot(), nil
	}
	err = r.stopLocked(rec, agent)
	return false, rec.snapshot(), err
}

// killEnded is a kill of a task that had ended (T39). It is called with the
// lock and gives it back.
func (r *Registry) killEnded(rec *record, p Producer, agent bool) (bool, Task, error) {
	if agent && !rec.Reported {
		next := rec.Record
		next.Reported = true
		t := r.transitionLocked()
		t.put(rec, next)
		if err := t.commit(); err != nil {
			r.unlock()
			return false, Task{}, err
		}
	}
	snapshot := rec.snapshot()
	r.unlock()
	if _, err := p.EndLeftovers(rec.row); err != nil {
		return true, snapshot, producerFailed(err)
	}
	return true, snapshot, nil
}

// stopLocked records that the producer has been asked. A settlement that came
// meanwhile stays as it is (T43).
func (r *Registry) stopLocked(rec *record, agent bool) error {
	next := rec.Record
	next.Reported = next.Reported || agent
	ended := rec.Status.Terminal()
	if ended && next.Reported == rec.Reported {
		return nil
	}
	t := r.transitionLocked()
	if !ended {
		if next.Status == Running && !agent {
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
