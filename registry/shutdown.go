package registry

import (
	"context"
	"sync"
	"time"
)

// Shutdown is the first half of the registry's end: starts are refused, waits
// aborted, completion listeners closed (T79, T80). With cancel every live task
// is asked to end and waited for, at most commands.stopGraceMs and 2 s more or
// as long as ctx allows, and leftovers are ended; such tasks stay unreported,
// detail "daemon stopped". The operator's waits are then answered with that end:
// a person whose wait we cut off had nobody to ask what became of it. An owner's
// are aborted: its notice waits for it. Without cancel tasks are left to their
// producers and the next daemon. Then subscriptions end. Ends, reports and cursors
// are recorded until [Registry.Close]. A second call does nothing.
func (r *Registry) Shutdown(ctx context.Context, cancel bool) {
	r.mu.Lock()
	if r.phase != open {
		r.unlock()
		return
	}
	r.tells = cancel
	owners := r.refuseLocked()
	r.unlock()

	var wg sync.WaitGroup
	for _, o := range owners {
		wg.Go(func() {
			if !cancel {
				r.awaitStarts(ctx, o)
				return
			}
			r.drain(ctx, o, teardownRules{reason: causeDaemon, cause: causeDaemon})
			r.endLeftovers(o)
		})
	}
	wg.Wait()

	r.mu.Lock()
	r.drainedLocked()
	r.unlock()
	r.awaitQueue()
}

// Retire is [Registry.Shutdown] where no task lives or is about to; else it changes
// nothing and reports false. A daemon that ends because it has nothing to do must
// not be given something after it has looked.
func (r *Registry) Retire() bool {
	r.mu.Lock()
	if r.phase != open || r.starting > 0 || len(r.live) > 0 {
		r.unlock()
		return false
	}
	r.refuseLocked()
	r.drainedLocked()
	r.unlock()
	r.awaitQueue()
	return true
}

// refuseLocked refuses starts and aborts waits, but for those that will be
// answered, and gives all owners.
func (r *Registry) refuseLocked() []*owner {
	r.phase = stopping
	owners := make([]*owner, 0, len(r.owners))
	for _, o := range r.owners {
		owners = append(owners, o)
		r.abortOwnerLocked(o)
		signal(&o.bell)
	}
	if !r.tells {
		r.abortWaitsLocked()
	}
	signal(&r.arrivals)
	return owners
}

func (r *Registry) abortWaitsLocked() {
	for _, rec := range r.live {
		for _, w := range rec.waiters {
			w.abortLocked()
		}
	}
}

// drainedLocked ends the subscriptions and what the registry does on its own.
func (r *Registry) drainedLocked() {
	r.phase = drained
	r.abortWaitsLocked()
	r.end()
	if r.changes.readers > 0 {
		close(r.changes.grown)
		r.changes.grown = make(chan struct{})
	}
}

// Ending reports whether Shutdown has begun: a wait that ended as aborted since
// then may be the daemon's doing and not its caller's.
func (r *Registry) Ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase != open
}

// awaitStarts waits for the starts of an owner that are under way: their
// commands run already, and must be known to the next daemon.
func (r *Registry) awaitStarts(ctx context.Context, o *owner) {
	timeout := time.NewTimer(drainExtra)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		n, settled := o.startsLocked(), await(&o.settled)
		r.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-settled:
		case <-timeout.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close is the second half: what the store refused is tried once more, and the
// store is closed. Call it when nobody can have a receipt any more and the
// producers are closed; what comes later is dropped, and the next daemon finds
// out itself. A second call does nothing.
func (r *Registry) Close() error {
	r.mu.Lock()
	switch r.phase {
	case closed:
		r.unlock()
		return nil
	case open: // it never served
		r.refuseLocked()
	}
	r.drainedLocked()
	r.retryLocked()
	r.phase = closed
	r.disarmLocked()
	r.unlock()
	r.awaitQueue()
	r.wg.Wait()
	return r.store.Close()
}

// awaitQueue waits until the calls that are queued are made.
func (r *Registry) awaitQueue() {
	r.mu.Lock()
	draining, drained := r.draining, r.drained
	r.mu.Unlock()
	if draining {
		<-drained
	}
}
