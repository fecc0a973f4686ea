package registry

import (
	"context"
	"sync"
	"time"
)

// Shutdown ends the registry: starts are refused, waits aborted, completion
// listeners closed (T79, T80). With cancel every live task is asked to end and
// waited for, at most commands.stopGraceMs and 2 s more or as long as ctx
// allows, and leftovers are ended; such tasks stay unreported, detail "daemon
// stopped". Without it they are left to their producers and the next daemon.
// Then the store is closed. A second call does nothing.
func (r *Registry) Shutdown(ctx context.Context, cancel bool) error {
	r.mu.Lock()
	if r.phase != open {
		r.unlock()
		return nil
	}
	r.phase = stopping
	owners := make([]*owner, 0, len(r.owners))
	for _, o := range r.owners {
		owners = append(owners, o)
		r.abortOwnerLocked(o)
		signal(&o.bell)
	}
	for _, rec := range r.live {
		for _, w := range rec.waiters {
			w.abortLocked()
		}
	}
	signal(&r.arrivals)
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
	return r.close()
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

// close waits for what still runs of the registry and closes the store.
func (r *Registry) close() error {
	r.mu.Lock()
	r.retryLocked()
	r.phase = closed
	r.disarmLocked()
	r.end()
	for _, rec := range r.rows {
		for i := range rec.readers {
			signal(&rec.readers[i])
		}
	}
	if r.changes.readers > 0 {
		close(r.changes.grown)
		r.changes.grown = make(chan struct{})
	}
	r.unlock()
	r.wg.Wait()
	for {
		r.mu.Lock()
		draining, drained := r.draining, r.drained
		r.mu.Unlock()
		if !draining {
			break
		}
		<-drained
	}
	return r.store.Close()
}
