package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"sidetask/registry"
)

// Recover finds out what became of the tasks that had not ended when the last
// daemon did (ARCHITECTURE, decision 3), and adopts those that live. It is called
// once, after the producer was added to the registry.
func (p *Producer) Recover() error {
	for _, r := range p.registry.Unsettled(Name) {
		if err := p.recoverTask(r); err != nil {
			return fmt.Errorf("recover the task of row %d: %w", r.Task.Row, err)
		}
	}
	rows := p.registry.Rows(Name)
	for row := range rows {
		p.adoptLeftovers(row)
	}
	p.removeUnknown(rows)
	return nil
}

// recoverTask decides by the lock first, then by the record: a keeper that ends
// between the looks has written its record before.
func (p *Producer) recoverTask(r registry.Recovered) error {
	row := r.Task.Row
	locked, err := busy(p.lockFile(row))
	if err != nil {
		return err
	}
	if !locked {
		p.bury(row)
	}
	e, recorded := p.anyRecord(row)
	if !locked && !recorded {
		if r.Starting {
			p.removeAll(row)
			return p.registry.Drop(row)
		}
		p.sweep(row)
		why := "neither its keeper nor a record of its end is there"
		if p.otherBoot(row) {
			why = "the machine was restarted"
		}
		p.registry.Settle(row, lost(why))
		return nil
	}
	if r.Starting {
		if _, err := p.registry.Adopt(row); err != nil {
			return err
		}
	}
	adopted := locked && p.adopt(row)
	if !recorded {
		e, recorded = p.anyRecord(row) // it may have ended just now
	}
	switch {
	case recorded:
		p.settleRecovered(row, e)
	case !adopted:
		p.sweep(row)
		p.registry.Settle(row, lost("its keeper ended without a record of the command's end"))
	case r.Task.Status == registry.Stopping:
		// The ask may not have reached the keeper; a second one changes nothing.
		if err := p.Cancel(context.Background(), row, nil); err != nil {
			p.log.Warn("cannot repeat the stop of an adopted task", "task", r.Task.ID, "error", err)
		}
	}
	return nil
}

// settleRecovered settles by a record, unless the watch on the folder did.
func (p *Producer) settleRecovered(row registry.Row, e exit) {
	p.mu.Lock()
	k, ok := p.kept[row]
	done := ok && k.ended
	if ok && !done {
		k.ended, k.leftovers = true, e.Leftovers
	}
	p.mu.Unlock()
	if done {
		return
	}
	p.settle(row, e)
	if ok {
		close(k.settled)
	}
}

// anyRecord reads the exit record, wherever it lies by now.
func (p *Producer) anyRecord(row registry.Row) (exit, bool) {
	if e, ok := readRecord(p.record(row)); ok {
		return e, true
	}
	return readRecord(p.oldRecord(row))
}

// signTimeout is how long a keeper may take to write down who it is: it does so
// first of all once it has its job.
const signTimeout = 10 * time.Second

// adopt begins to listen for the end of a keeper that another daemon started.
// false: there is none any more.
func (p *Producer) adopt(row registry.Row) bool {
	a, ok := p.awaitSigned(row)
	if !ok {
		return false
	}
	pidfd, err := openKeeper(a)
	if err != nil {
		return false
	}
	err = p.track(&kept{
		row: row, pidfd: pidfd, keeper: a.Keeper, pid: a.Command, input: a.Input, group: a.Group,
		settled: make(chan struct{}), gone: make(chan struct{}),
	})
	if err != nil {
		p.log.Error("cannot adopt a task", "row", row, "error", err)
		closeFD(pidfd)
		return false
	}
	return true
}

// awaitSigned reads who the keeper is. One that got its job the moment that the
// last daemon died may still be about to write it.
func (p *Producer) awaitSigned(row registry.Row) (alive, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), signTimeout)
	defer cancel()
	watch := p.watcher.Watch(p.dir(row))
	defer watch.Close()
	for {
		if a, err := p.signed(row); err == nil {
			return a, true
		}
		if locked, err := busy(p.lockFile(row)); err != nil || !locked {
			return alive{}, false
		}
		if watch.Wait(ctx) != nil {
			return alive{}, false
		}
	}
}

func (p *Producer) signed(row registry.Row) (alive, error) {
	var a alive
	text, err := os.ReadFile(p.lockFile(row))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	return a, err
}

// adoptLeftovers looks whether an ended task still has a keeper, and so
// leftovers.
func (p *Producer) adoptLeftovers(row registry.Row) {
	if _, ok := p.find(row); ok {
		return
	}
	locked, err := busy(p.lockFile(row))
	if err == nil && !locked {
		p.bury(row)
	}
	if err != nil || !locked || !p.adopt(row) {
		return
	}
	e, _ := p.anyRecord(row)
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[row]; ok {
		k.ended, k.leftovers = true, max(e.Leftovers, 1)
		close(k.settled)
	}
}

// bury reaps a keeper that ended while nobody listened: after a restart in place
// it may still be this process's child.
func (p *Producer) bury(row registry.Row) {
	a, err := p.signed(row)
	if err != nil {
		return
	}
	pidfd, err := openKeeper(a)
	if err != nil {
		return // gone for good
	}
	reap(pidfd)
	closeFD(pidfd)
}

// removeUnknown deletes what lies on disk for rows that the registry does not
// know: a start that a crash cut off, or a record of it. What lives is left
// alone, and told of.
func (p *Producer) removeUnknown(rows map[registry.Row]bool) {
	for _, dir := range []string{p.paths.Tasks(), p.paths.Exits()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			p.log.Warn("cannot look for what crashes left", "error", err)
			continue
		}
		for _, entry := range entries {
			n, err := strconv.ParseInt(entry.Name(), 10, 64)
			row := registry.Row(n)
			if _, known := rows[row]; err != nil || known {
				continue
			}
			p.removeStray(row)
		}
	}
}

func (p *Producer) removeStray(row registry.Row) {
	if _, err := os.Stat(p.lockFile(row)); err != nil {
		// No folder, or that of a task of another producer.
		_ = os.Remove(p.record(row))
		return
	}
	locked, err := busy(p.lockFile(row))
	if err != nil || locked {
		p.log.Warn("a command runs that is in no record: end its keeper with SIGTERM", "row", row)
		return
	}
	_ = os.Remove(p.record(row))
	p.removeAll(row)
}

// otherBoot reports whether the task's keeper ran before the machine was
// restarted.
func (p *Producer) otherBoot(row registry.Row) bool {
	a, err := p.signed(row)
	return err == nil && a.Boot != "" && a.Boot != bootID()
}
