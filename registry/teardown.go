package registry

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// drainExtra is what a teardown waits beyond commands.stopGraceMs (T77).
const drainExtra = 2 * time.Second

// cancelsAtOnce bounds how many producers are asked at the same time: an
// outside one may take a second to answer.
const cancelsAtOnce = 32

// teardownRules is how one kind of teardown treats its tasks.
type teardownRules struct {
	reason string // for the producer
	report bool   // claim the report before the cancel (T72)
	cause  string // detail of a killed outcome; "" = the producer's
}

// teardown asks all given tasks to end (T72 to T76) and does not wait for
// that. It returns when every producer has answered.
func (r *Registry) teardown(ctx context.Context, victims []*record, rules teardownRules) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, cancelsAtOnce)
	for _, rec := range victims {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r.teardownOne(ctx, rec, rules)
		})
	}
	wg.Wait()
}

func (r *Registry) teardownOne(ctx context.Context, rec *record, rules teardownRules) {
	r.mu.Lock()
	if rec.gone || rec.Status.Terminal() { // T76
		r.unlock()
		return
	}
	next := rec.Record
	next.Reported = next.Reported || rules.report
	if next.Status == Running && next.Cause == "" {
		next.Cause = rules.cause
	}
	t := r.transitionLocked()
	t.put(rec, next)
	if err := t.commit(); err != nil {
		r.log.Error("a teardown could not be recorded; it goes on", "task", rec.ID, "error", err)
	}
	p := r.producerLocked(rec.Producer)
	r.unlock()

	failed := p.Cancel(ctx, rec.row, &rules.reason)

	r.mu.Lock()
	defer r.unlock()
	if rec.gone || rec.Status.Terminal() {
		return
	}
	if failed != nil { // T75
		r.log.Error(fmt.Sprintf("tasks: cancel of %s threw during teardown; task record forced failed and work may be orphaned: %v", rec.ID, failed))
		r.forceLocked(rec, fmt.Sprintf("cancel threw during teardown; work may be orphaned: %v", failed))
		return
	}
	next = rec.Record
	next.Status = Stopping
	t = r.transitionLocked()
	t.put(rec, next)
	t.announce(&next)
	if err := t.commit(); err != nil {
		r.log.Error("a teardown could not be recorded; it goes on", "task", rec.ID, "error", err)
		return
	}
	r.announceLocked(rec.owner) // T73
}

// forceLocked ends a record whose producer does not.
func (r *Registry) forceLocked(rec *record, detail string) {
	r.settleLocked(rec, Outcome{Status: Failed, Detail: &detail})
}

// drain waits until nothing of the owner starts or lives, cancelling what
// starts meanwhile, at most for the grace; what lives then is forced to end
// (T77). It gives the ids of the tasks that it cancelled.
func (r *Registry) drain(ctx context.Context, o *owner, rules teardownRules) []string {
	r.mu.Lock()
	bound := r.grace().Stop + drainExtra
	r.unlock()
	timeout := time.NewTimer(bound)
	defer timeout.Stop()
	asked := make(map[Row]bool)
	var cancelled []string
	for {
		r.mu.Lock()
		var victims []*record
		for _, rec := range ordered(o.live) {
			if !asked[rec.row] {
				asked[rec.row] = true
				cancelled = append(cancelled, rec.ID)
				victims = append(victims, rec)
			}
		}
		if len(o.live)+o.startsLocked() == 0 {
			r.unlock()
			return cancelled
		}
		settled := await(&o.settled)
		r.unlock()
		if len(victims) > 0 {
			r.teardown(ctx, victims, rules)
			continue
		}
		select {
		case <-settled:
		case <-timeout.C:
			r.force(o, bound)
			return cancelled
		case <-ctx.Done():
			r.force(o, bound)
			return cancelled
		}
	}
}

// force ends the records of an owner that its producers did not.
func (r *Registry) force(o *owner, bound time.Duration) {
	r.mu.Lock()
	defer r.unlock()
	for _, rec := range ordered(o.live) {
		detail := fmt.Sprintf("not ended within %d ms of its cancel during teardown; work may be orphaned", bound.Milliseconds())
		r.log.Error(fmt.Sprintf("tasks: %s %s; task record forced failed", rec.ID, detail))
		r.forceLocked(rec, detail)
	}
}

// endLeftovers ends what the finished tasks of an owner left running.
func (r *Registry) endLeftovers(o *owner) {
	r.mu.Lock()
	tasks := snapshotsLocked(ordered(o.finished))
	r.mu.Unlock()
	r.endLeftoversOf(tasks...)
}

// endLeftoversOf ends what ended tasks left running.
func (r *Registry) endLeftoversOf(tasks ...Task) {
	for i, facts := range r.FactsOf(tasks) {
		if facts.Leftovers == 0 {
			continue
		}
		if _, err := r.producer(tasks[i].Producer).EndLeftovers(tasks[i].Row); err != nil {
			r.log.Error("what a task left running could not be ended", "row", tasks[i].Row, "error", err)
		}
	}
}
