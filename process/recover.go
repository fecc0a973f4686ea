package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"sidetask/process/wire"
	"sidetask/registry"
)

// Recover finds out what became of the tasks that had not ended when the last
// daemon did (ARCHITECTURE, decision 3), and adopts those that live. It is called
// once, after the producer was added to the registry. Where it fails the daemon must
// not start: it would tell tasks as lost that are not.
func (p *Producer) Recover() error { return p.patiently(p.recoverAll) }

// recoverAll may be called again when it has failed.
func (p *Producer) recoverAll() error {
	for _, r := range p.registry.Unsettled(Name) {
		if _, ok := p.find(r.Task.Row); ok {
			continue // adopted by an earlier try
		}
		if err := p.recoverTask(r); err != nil {
			return fmt.Errorf("recover the task of row %d: %w", r.Task.Row, err)
		}
	}
	rows := p.registry.Rows(Name)
	for row := range rows {
		if err := p.adoptLeftovers(row); err != nil {
			return fmt.Errorf("look for what the task of row %d left running: %w", row, err)
		}
	}
	return p.removeUnknown(rows)
}

// recoverTask decides by the lock first, then by the record: a keeper that ends
// between the looks has written its record before.
func (p *Producer) recoverTask(r registry.Recovered) error {
	row := r.Task.Row
	keeper, lives, err := p.keeperOf(row)
	if err != nil {
		return err
	}
	e, recorded, err := p.anyRecord(row)
	if err != nil {
		return err
	}
	if !lives && !recorded {
		return p.nothingThere(r)
	}
	if r.Starting {
		if _, err := p.registry.Adopt(row); err != nil {
			return err
		}
	}
	adopted := false
	if lives {
		if adopted, err = p.adopt(row, keeper); err != nil {
			return err
		}
	}
	if !recorded { // it may have ended just now
		if e, recorded, err = p.anyRecord(row); err != nil {
			p.disown(row)
			return err
		}
	}
	switch {
	case recorded:
		p.settle(row, e)
	case !adopted:
		p.abandoned(row)
		p.lose(lostTask{row: row, why: "its keeper ended"})
	case r.Task.Status == registry.Stopping:
		// The ask may not have reached the keeper; a second one changes nothing.
		if err := p.Cancel(context.Background(), row, nil); err != nil {
			p.log.Warn("cannot repeat the stop of an adopted task", "task", r.Task.ID, "error", err)
		}
	}
	return nil
}

// nothingThere is what becomes of a task without keeper and record: a start that
// never was is forgotten, anything else is lost.
func (p *Producer) nothingThere(r registry.Recovered) error {
	row := r.Task.Row
	abandoned := p.abandoned(row)
	if r.Starting {
		if abandoned {
			p.sweep(row) // its command may have run
		}
		p.removeAll(row)
		return p.registry.Drop(row)
	}
	why := "neither its keeper nor a record of its end is there"
	if p.otherBoot(row) {
		why = "the machine was restarted"
	}
	p.lose(lostTask{row: row, why: why})
	return nil
}

// anyRecord reads the exit record, wherever it lies by now. It fails as readRecord does.
func (p *Producer) anyRecord(row registry.Row) (wire.Exit, bool, error) {
	e, ok, err := readRecord(p.record(row))
	if !ok && err == nil {
		e, ok, err = readRecord(p.oldRecord(row))
	}
	return e, ok, err
}

const (
	// signTimeout is how long a keeper may take to write down who it is: it does
	// so first of all once it has its job.
	signTimeout = 10 * time.Second
	// signLook is how often the lock of one that has not is looked at meanwhile.
	signLook = 10 * time.Millisecond
)

// keeperOf decides by the lock whether a keeper lives. A busy lock alone is none:
// the last daemon may have died before it handed the job over, and a process that
// it was just forking then still has its open files, for some microseconds. So
// the keeper's own signature is awaited, or the end of the lock, which nothing tells.
func (p *Producer) keeperOf(row registry.Row) (a wire.Alive, lives bool, err error) {
	ticker := time.NewTicker(signLook)
	defer ticker.Stop()
	for end := time.Now().Add(signTimeout); ; <-ticker.C {
		locked, err := busy(p.lockFile(row))
		if err != nil {
			return a, false, err
		}
		if !locked {
			a, answers, err := p.answering(row)
			if !answers && err == nil {
				p.bury(row)
			}
			return a, answers, err
		}
		if a, err = p.signed(row); err == nil || time.Now().After(end) {
			return a, true, nil
		}
		if scarce(err) {
			return a, false, err
		}
	}
}

// answering finds a keeper by its control socket: somebody deleted the locked file
// of a task that runs. That socket is all that is known of it then.
func (p *Producer) answering(row registry.Row) (a wire.Alive, answers bool, err error) {
	pid, err := listener(p.control(row))
	var start uint64
	if err == nil {
		start, err = startTime(pid)
	}
	if scarce(err) {
		return a, false, err
	}
	return wire.Alive{Format: wire.Format, Keeper: pid, Start: start, Boot: p.boot}, err == nil, nil
}

// adopt begins to listen for the end of a keeper that another daemon started.
// false: there is none any more.
func (p *Producer) adopt(row registry.Row, a wire.Alive) (adopted bool, err error) {
	pidfd, err := openKeeper(a)
	if scarce(err) {
		return false, err
	}
	if err != nil {
		return false, nil
	}
	err = p.track(&kept{
		row: row, pidfd: pidfd, keeper: a.Keeper, pid: a.Command, input: a.Input, group: a.Group, graceMs: a.GraceMs,
		gone: make(chan struct{}),
	})
	if err != nil {
		closeFD(pidfd)
		return false, err
	}
	p.checkLimit(row, a.TimeoutMs, a.GraceMs)
	return true, nil
}

// disown takes an adoption back: the task is looked at again.
func (p *Producer) disown(row registry.Row) {
	if k, ok := p.untrack(row); ok {
		closeFD(k.pidfd)
	}
}

// signed reads the last line of the locked file that its keeper finished.
func (p *Producer) signed(row registry.Row) (wire.Alive, error) {
	text, err := os.ReadFile(p.lockFile(row))
	if err != nil {
		return wire.Alive{}, err
	}
	var a wire.Alive
	err = errUnsigned
	for line := range strings.Lines(string(text)) {
		var next wire.Alive
		if wire.Decode([]byte(line), &next) == nil && next.Format > 0 {
			a, err = next, nil
		}
	}
	return a, err
}

// errUnsigned says that a keeper has not written yet who it is.
var errUnsigned = errors.New("not signed yet")

// adoptLeftovers looks whether an ended task still has a keeper, and so
// leftovers. Those of one that was killed are ended.
func (p *Producer) adoptLeftovers(row registry.Row) error {
	if _, ok := p.find(row); ok {
		return nil
	}
	keeper, lives, err := p.keeperOf(row)
	if err != nil {
		if scarce(err) {
			return err
		}
		return nil // an ended task harms nobody
	}
	if !lives && p.abandoned(row) {
		p.lose(lostTask{row: row, settled: true})
	}
	if !lives {
		return nil
	}
	e, _, err := p.anyRecord(row)
	if err != nil {
		return err
	}
	adopted, err := p.adopt(row, keeper)
	if !adopted {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kept[row]; ok {
		k.ended, k.leftovers = true, max(e.Leftovers, 1)
	}
	return nil
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
// alone, and told of. The registry hears of each, for after a power cut it may have
// lost its last commits, and no row or id is used twice.
func (p *Producer) removeUnknown(rows map[registry.Row]bool) error {
	for _, dir := range []string{p.paths.Tasks(), p.paths.Exits()} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("look for what crashes left: %w", err)
		}
		for _, entry := range entries {
			n, err := strconv.ParseInt(entry.Name(), 10, 64)
			row := registry.Row(n)
			if _, known := rows[row]; err != nil || known {
				continue
			}
			if err := p.registry.Seen(row); err != nil {
				return err
			}
			p.removeStray(row)
		}
	}
	return nil
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
	return err == nil && otherBoot(a)
}

// otherBoot reports whether the machine was restarted since this keeper ran: no
// number in its signature means anything then. What cannot be read is no other boot.
func otherBoot(a wire.Alive) bool {
	now := bootID()
	return a.Boot != "" && now != "" && a.Boot != now
}
