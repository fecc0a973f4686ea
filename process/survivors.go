package process

import (
	"context"
	"time"

	"sidetask/process/wire"
	"sidetask/registry"
)

const (
	// survivorsAfter is when, after the grace of a kill or a time limit, a keeper is
	// looked after: by then nothing should be left but what the kernel holds on to
	// (a dead network disk).
	survivorsAfter = 3 * time.Second
	// silence is how long a keeper may take then to say anything at all.
	silence = 3 * time.Second
)

// checkSurvivors looks after the keeper when a kill should be over, and from then
// on until it is. Nothing waits for that but a timer; the keeper's end stops it.
func (p *Producer) checkSurvivors(row registry.Row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[row]; ok && k.check == nil && !p.closed {
		k.check = time.AfterFunc(p.settings().grace()+p.survivors, func() {
			if p.lookAfter(row) {
				p.again(row, func(k *kept) *time.Timer { return k.check })
			}
		})
	}
}

// checkLimit looks after the keeper when it should have ended the command for its
// time limit, and from then on until it has.
func (p *Producer) checkLimit(row registry.Row, timeoutMs, graceMs int64) {
	if timeoutMs <= 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[row]; ok && k.overdue == nil && !p.closed {
		after := time.Duration(timeoutMs+graceMs) * time.Millisecond
		k.overdue = time.AfterFunc(after+p.survivors, func() {
			if k, ok := p.find(row); ok && !k.ended && p.lookAfter(row) {
				p.again(row, func(k *kept) *time.Timer { return k.overdue })
			}
		})
	}
}

// again lets a timer of a task that is still kept run once more.
func (p *Producer) again(row registry.Row, timer func(*kept) *time.Timer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[row]; ok && !p.closed {
		timer(k).Reset(max(p.survivors, soonest))
	}
}

// soonest keeps looks apart.
const soonest = 100 * time.Millisecond

// lookAfter tells the person what a kill could not end, and ends a keeper that
// does nothing any more: its own command may have stopped it (SIGSTOP). false:
// the keeper is not to be looked after any more.
func (p *Producer) lookAfter(row registry.Row) bool {
	p.mu.Lock()
	k, ok := p.kept[row]
	if !ok || p.closed {
		p.mu.Unlock()
		return false
	}
	p.done.Add(1) // with the lock: Close waits only after it has set closed
	defer p.done.Done()
	told := k.told
	resume(k.pidfd)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(p.life, p.silence)
	defer cancel()
	a, err := p.ask(ctx, row, wire.Request{Op: wire.OpStatus})
	switch {
	case err == nil && len(a.Names) > 0 && !told:
		p.log.Warn("processes of a killed task do not end; their keeper goes on trying", "row", row, "processes", a.Processes, "first", a.Names)
		p.mu.Lock()
		k.told = true
		p.mu.Unlock()
	case err != nil && ctx.Err() == context.DeadlineExceeded:
		p.killKeeper(row)
	}
	return true
}

// killKeeper ends a keeper that does not answer. Its task is lost then, and its
// processes are swept.
func (p *Producer) killKeeper(row registry.Row) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[row]; ok && !p.closed {
		p.log.Warn("a keeper does not answer and is killed, with its command", "row", row)
		kill(k.pidfd)
	}
}

// stopChecks ends the timers. The producer's mu must be held.
func (k *kept) stopChecks() {
	for _, timer := range []*time.Timer{k.check, k.overdue} {
		if timer != nil {
			timer.Stop()
		}
	}
}
