package process

import (
	"context"
	"os"
	"path/filepath"

	"sidetask/registry"
	"sidetask/spool"
)

// streams are the spools that a task may have.
var streams = []string{outDir, errDir, orderDir}

// waitingHint is the passing detail of a command that waits for its user.
const waitingHint = "waiting for input"

// Facts tells what is known of a task now. Only for a live command that takes
// input, and for one that left processes, its keeper is asked.
func (p *Producer) Facts(row registry.Row) registry.Facts {
	var f registry.Facts
	dir := p.dir(row)
	for _, s := range streams {
		// What cannot be read is told as nothing: this is for display.
		disk, size, _ := spool.Measure(filepath.Join(dir, s))
		f.Disk += disk
		if s != orderDir {
			f.Bytes += size
		}
	}
	k, live := p.find(row)
	if live && k.ended && k.leftovers > 0 {
		f.Leftovers = p.countLeftovers(row, k.leftovers)
	}
	if !live || k.ended {
		if e, ok := p.anyRecord(row); ok && e.SpawnError == "" {
			f.PID, f.CPUMs, f.RSSMax = e.PID, &e.CPUMs, &e.RSSMax
			if e.MemoryPeak > 0 {
				f.RSSMax = &e.MemoryPeak // of all its processes together
			}
		}
		return f
	}
	if k.pid == 0 { // adopted before its keeper knew
		a, _ := p.signed(row)
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
	if k.input && p.waitsForInput(row) {
		f.Hint = waitingHint
	}
	return f
}

// countLeftovers asks the keeper how many leftovers there are by now; last is
// the number that was known last.
func (p *Producer) countLeftovers(row registry.Row, last int) int {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	a, err := p.ask(ctx, row, request{Op: opStatus})
	if err != nil {
		return last
	}
	return a.Processes
}

func (p *Producer) waitsForInput(row registry.Row) bool {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	a, err := p.ask(ctx, row, request{Op: opStatus})
	return err == nil && a.Waiting
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
	return freed, nil
}
