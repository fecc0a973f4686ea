package registry

import (
	"context"
	"errors"
)

// Inbox gives the tasks whose notices are due, oldest end first: ended, owned,
// not reported, not held by a lease, not acknowledged. It is a look: nothing
// changes.
func (r *Registry) Inbox(h Handle) []Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, err := r.agentLocked(h)
	if err != nil {
		return nil
	}
	return snapshotsLocked(byEnd(o.waiting, o.parked))
}

// AwaitInbox waits until a notice is due. When the deadline of ctx passes the
// list is empty; when it is cancelled, or the owner's waits are aborted, that
// is [ErrWaitAborted].
func (r *Registry) AwaitInbox(ctx context.Context, h Handle) ([]Task, error) {
	for {
		r.mu.Lock()
		o, err := r.agentLocked(h)
		if err != nil || o.dueLocked() > 0 {
			defer r.mu.Unlock()
			if err != nil {
				return nil, err
			}
			return snapshotsLocked(byEnd(o.waiting, o.parked)), nil
		}
		if r.phase != open {
			r.mu.Unlock()
			return nil, ErrWaitAborted
		}
		bell, abort := await(&o.bell), o.abortedLocked()
		r.mu.Unlock()
		select {
		case <-bell:
		case <-abort:
			return nil, ErrWaitAborted
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, nil
			}
			return nil, ErrWaitAborted
		}
	}
}
