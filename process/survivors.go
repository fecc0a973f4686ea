package process

import (
	"context"
	"time"

	"sidetask/registry"
)

// survivorsAfter is when, after the grace of a kill, what is left of the tree is
// named: by then only what the kernel holds on to lives (a dead network disk).
const survivorsAfter = 3 * time.Second

// checkSurvivors looks after a kill whether the tree is empty. Nothing waits for
// that but a timer; the keeper's end stops it.
func (p *Producer) checkSurvivors(row registry.Row) {
	grace := time.Duration(p.settings().StopGraceMs) * time.Millisecond
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[row]; ok && k.check == nil && !p.closed {
		k.check = time.AfterFunc(grace+p.survivors, func() { p.nameSurvivors(row) })
	}
}

// nameSurvivors tells the person what a kill could not end.
func (p *Producer) nameSurvivors(row registry.Row) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.done.Add(1) // with the lock: Close waits only after it has set closed
	p.mu.Unlock()
	defer p.done.Done()
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	a, err := p.ask(ctx, row, request{Op: opStatus})
	if err == nil && a.Processes > 0 {
		p.log.Warn("processes of a killed task do not end; their keeper goes on trying", "row", row, "processes", a.Processes, "first", a.Names)
	}
}

// stopCheck ends the timer. The producer's mu must be held.
func (k *kept) stopCheck() {
	if k.check != nil {
		k.check.Stop()
	}
}
