package registry

import (
	"context"
	"errors"
)

// Dispose ends an owner (T68 to T78): its live tasks are cancelled, each
// report claimed before that, and waited for, at most commands.stopGraceMs and
// 2 s more; then its records, its waiting notices and the owner itself are
// gone. It gives the ids of the tasks that it cancelled. Once begun it is
// carried through, whatever becomes of ctx. reason "" stands for "owner
// disposed".
func (r *Registry) Dispose(ctx context.Context, h Handle, reason string) ([]string, error) {
	if reason == "" {
		reason = "owner disposed"
	}
	r.mu.Lock()
	o, err := r.agentLocked(h)
	if err == nil && r.phase != open {
		err = ErrShuttingDown
	}
	if err != nil {
		r.unlock()
		return nil, err
	}
	if begun := o.disposed; begun != nil {
		r.unlock()
		select {
		case <-begun:
			return nil, nil
		case <-ctx.Done():
			return nil, ErrWaitAborted
		}
	}
	o.disposed = make(chan struct{}) // from here on starts are refused (T14)
	r.unlock()

	cancelled := r.drain(r.life, o, teardownRules{reason: reason, report: true})
	r.endLeftovers(o)

	removed, err := r.removeOwner(o)
	r.remove(removed)
	return cancelled, err
}

// removeOwner drops an owner with all its records.
func (r *Registry) removeOwner(o *owner) ([]*record, error) {
	r.mu.Lock()
	defer r.unlock()
	r.abortOwnerLocked(o)
	defer close(o.disposed)
	if r.phase == closed {
		return nil, ErrShuttingDown
	}
	records := ordered(o.starting, o.live, o.finished)
	t := r.transitionLocked()
	for _, rec := range records {
		t.drop(rec)
		t.then(func() { r.keepStartLocked(rec) })
		if rec.Lease != "" {
			delete(r.lenders, rec.Lease)
		}
	}
	t.change.DropOwners = []Handle{o.Handle}
	t.then(func() { r.removeOwnerLocked(o) })
	if err := t.commit(); err != nil {
		o.disposed = nil // it stays, with what is left, and can be disposed again
		return nil, errors.Join(errors.New("the owner's tasks have been cancelled, but its records could not be removed"), err)
	}
	if len(records) > 0 {
		r.announceLocked(o)
	}
	signal(&o.bell)
	r.armLocked()
	return records, nil
}

// remove lets the producers delete what they kept of records that are gone,
// and says how many bytes that freed.
func (r *Registry) remove(records []*record) int64 {
	var freed int64
	for _, rec := range records {
		r.mu.Lock()
		p, starting := r.producerLocked(rec.Producer), rec.Starting
		r.mu.Unlock()
		if !starting { // else its start still works on it, and ends it (Start, abandon)
			freed += r.removeKept(p, rec.row)
		}
	}
	return freed
}

// removeKept lets a producer delete what it kept of a row.
func (r *Registry) removeKept(p Producer, row Row) int64 {
	freed, err := p.Remove(row)
	if err != nil {
		r.log.Error("what was kept of a task could not be deleted", "row", row, "error", err)
	}
	return freed
}
