package process

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sidetask/process/wire"
	"sidetask/registry"
	"sidetask/spool"
)

// streams are the spools that a task may have.
var streams = []string{wire.OutDir, wire.ErrDir, wire.OrderDir}

// waitingHint is the passing detail of a command that waits for its user.
const waitingHint = "waiting for input"

const (
	// factsTimeout is how long keepers may take to tell of themselves, all together:
	// one that hangs must not be felt by a person who looks at a list.
	factsTimeout = 100 * time.Millisecond
	// asksAtOnce bounds how many are asked at the same time.
	asksAtOnce = 32
)

// Facts tells what is known of the tasks now. Only for a live command that takes
// input, and for one that left processes, its keeper is asked. One that does not
// answer in time is told of as it was known last.
func (p *Producer) Facts(rows ...registry.Row) []registry.Facts {
	all := make([]registry.Facts, len(rows))
	var ask []int
	for i, row := range rows {
		k, live := p.find(row)
		switch {
		case !live:
			all[i] = p.pastFacts(row)
		case k.ended:
			all[i], _ = p.endedFacts(row)
			all[i].Leftovers = k.leftovers
			if k.leftovers > 0 {
				ask = append(ask, i)
			}
		default:
			all[i] = p.liveFacts(k)
			if k.input {
				ask = append(ask, i)
			}
		}
	}
	p.askEach(rows, ask, func(i int, a wire.Answer) {
		if all[i].Leftovers > 0 {
			all[i].Leftovers = a.Processes
		} else if a.Waiting {
			all[i].Hint = waitingHint
		}
	})
	return all
}

// askEach asks the keepers of some of the rows how they are, and tells of each
// that answers in time.
func (p *Producer) askEach(rows []registry.Row, which []int, tell func(i int, a wire.Answer)) {
	ctx, cancel := context.WithTimeout(p.life, factsTimeout)
	defer cancel()
	var asking sync.WaitGroup
	slots := make(chan struct{}, asksAtOnce)
	for _, i := range which {
		slots <- struct{}{} // given back at the latest when ctx ends
		asking.Go(func() {
			defer func() { <-slots }()
			if a, err := p.ask(ctx, rows[i], wire.Request{Op: wire.OpStatus}); err == nil {
				tell(i, a)
			}
		})
	}
	asking.Wait()
}

// pastFacts are those of a task without keeper: nothing of them changes any more,
// so they are found out once.
func (p *Producer) pastFacts(row registry.Row) registry.Facts {
	p.mu.Lock()
	f, known := p.past[row]
	p.mu.Unlock()
	if known {
		return f
	}
	f, known = p.endedFacts(row)
	p.mu.Lock()
	defer p.mu.Unlock()
	// Looked at with the lock: Remove deletes the folder first and forgets the facts
	// then, so none are kept of a task that is gone.
	if _, err := os.Stat(p.dir(row)); err == nil && known && !p.closed {
		p.past[row] = f
	}
	return f
}

// endedFacts are those of an ended task but for its leftovers. known: they stay so;
// else the record could not be read just now.
func (p *Producer) endedFacts(row registry.Row) (f registry.Facts, known bool) {
	f = p.sizes(row)
	e, ok, err := p.anyRecord(row)
	if ok && e.SpawnError == "" {
		f.PID, f.CPUMs, f.RSSMax = e.PID, &e.CPUMs, &e.RSSMax
		if e.MemoryPeak > 0 {
			f.RSSMax = &e.MemoryPeak // of all its processes together
		}
	}
	return f, err == nil
}

// liveFacts are those of a running command that can be had without its keeper.
func (p *Producer) liveFacts(k kept) registry.Facts {
	f := p.sizes(k.row)
	if k.pid == 0 { // adopted before its keeper knew
		a, _ := p.signed(k.row)
		k.pid = a.Command
	}
	f.PID = k.pid
	cpu, ok := groupCPU(k.group)
	if k.group == "" || !ok {
		cpu, ok = cpuMs(k.pid)
	}
	if ok {
		f.CPUMs = &cpu
	}
	return f
}

// sizes is how much output a task has written, and how much of it is kept.
func (p *Producer) sizes(row registry.Row) (f registry.Facts) {
	for _, s := range streams {
		// What cannot be read is told as nothing: this is for display.
		disk, size, _ := spool.Measure(filepath.Join(p.dir(row), s))
		f.Disk += disk
		if s != wire.OrderDir {
			f.Bytes += size
		}
	}
	return f
}

// Remove deletes everything kept of an ended task.
func (p *Producer) Remove(row registry.Row) (int64, error) {
	var freed int64
	for _, s := range streams {
		disk, err := spool.Usage(filepath.Join(p.dir(row), s))
		if err != nil {
			return 0, err
		}
		freed += disk
	}
	if err := os.Remove(p.record(row)); err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	if err := os.RemoveAll(p.dir(row)); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.past, row)
	return freed, nil
}
