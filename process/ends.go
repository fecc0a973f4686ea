package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"sidetask/paths"
	"sidetask/process/wire"
	"sidetask/registry"
)

// watchExits is told of the ends of all commands, own and adopted ones, by one
// watch on the folder of exit records. It looks after the watch is armed, so that
// no end falls between; whatever was missed (an overflow) is found by the next look.
func (p *Producer) watchExits() {
	var look <-chan time.Time
	told := p.exits
	if p.watcher.Polling() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		look, told = ticker.C, nil
	}
	for {
		var again <-chan time.Time
		if err := p.scanExits(); err != nil {
			p.log.Error("cannot look for exit records; trying again", "error", err)
			again = time.After(lookEvery)
			if errors.Is(err, fs.ErrNotExist) {
				_ = paths.Private(p.paths.Exits()) // somebody deleted it; an error comes again
			}
		}
		select {
		case <-told:
		case <-look:
		case <-again:
		case <-p.stop:
			return
		}
	}
}

// lookEvery is how often the folder is looked at where inotify is not to be had.
// Most ends are told by the end of the keeper all the same.
const lookEvery = 250 * time.Millisecond

// scanExits settles all kept tasks that have a record. Records of others stay:
// their keepers' rows are not known yet (Recover).
func (p *Producer) scanExits() error {
	entries, err := os.ReadDir(p.paths.Exits())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		row, err := strconv.ParseInt(entry.Name(), 10, 64)
		if err != nil {
			continue
		}
		if err := p.settleKept(registry.Row(row)); err != nil {
			return err
		}
	}
	return nil
}

// settleKept settles a kept task by its record, once. It fails where it cannot be
// known just now whether there is one.
func (p *Producer) settleKept(row registry.Row) error {
	k, ok := p.find(row)
	if !ok || k.ended {
		return nil
	}
	e, ok, err := readRecord(p.record(row))
	if ok {
		p.settle(row, e)
	}
	return err
}

// settle hands the outcome to the registry, unless another goroutine was first,
// and puts the record away: from then on it is only told of.
func (p *Producer) settle(row registry.Row, e wire.Exit) {
	p.mu.Lock()
	k, live := p.kept[row]
	done := live && k.ended
	if live && !done {
		k.ended, k.leftovers = true, e.Leftovers
	}
	p.mu.Unlock()
	if done {
		return
	}
	p.registry.Settle(row, outcome(e))
	if err := os.Rename(p.record(row), p.oldRecord(row)); err != nil && !os.IsNotExist(err) {
		p.log.Warn("cannot put an exit record away", "row", row, "error", err)
	}
}

// keeperEnded is called when a kept task's keeper has ended. With a record, its
// leftovers have ended, too, unless it was killed; without, the task is lost.
func (p *Producer) keeperEnded(row registry.Row) {
	k, ok := p.find(row)
	if !ok || !ended(k.pidfd) {
		return
	}
	// The record was renamed before the keeper ended: it is there, or never will be.
	if err := p.settleKept(row); err != nil {
		// The set tells of it again. A record that cannot be read is not lost.
		select {
		case <-time.After(lookEvery):
		case <-p.stop:
		}
		return
	}
	last, ok := p.untrack(row)
	if !ok {
		return
	}
	how := reap(last.pidfd)
	closeFD(last.pidfd)
	abandoned := p.abandoned(row)
	switch {
	case !last.ended || abandoned:
		p.lose(lostTask{row: row, why: "its keeper " + how, settled: last.ended, gone: last.gone})
		return
	case last.leftovers > 0:
		p.registry.Changed(row)
	}
	close(last.gone)
}

// readRecord reads an exit record; an incomplete one counts as none. It fails
// where it cannot be known just now whether there is one: no descriptor is left.
func readRecord(path string) (e wire.Exit, ok bool, err error) {
	text, err := os.ReadFile(path)
	if scarce(err) {
		return wire.Exit{}, false, err
	}
	if err != nil {
		return wire.Exit{}, false, nil
	}
	if wire.Decode(text, &e) != nil || e.Format < 1 || e.Format > wire.Format {
		return wire.Exit{}, false, nil
	}
	return e, true, nil
}

// outcome says how the command ended (T191 with sidetask's changes, T192).
func outcome(e wire.Exit) registry.Outcome {
	o := registry.Outcome{Status: registry.Completed, EndedAt: e.EndedAt, RanMs: e.RanMs}
	var detail string
	switch {
	case e.SpawnError != "":
		o.Status, detail = registry.Failed, "spawn failed: "+e.SpawnError
		o.Detail = &detail
		return o
	case e.Signal != 0:
		o.Status, o.Signal = registry.Killed, signalName(e.Signal)
		detail = "signal: " + o.Signal
		if e.Core {
			detail += " (core dumped)"
		}
	default:
		code := e.Code
		o.ExitCode, detail = &code, fmt.Sprintf("exit code: %d", e.Code)
	}
	if exceeded(e) {
		o.Status, detail = registry.Failed, "out of memory"
	}
	switch e.Cause {
	case wire.CauseStop:
		o.Status = registry.Killed
	case wire.CauseTimeout:
		o.TimedOut = true
		o.Status, detail = registry.Killed, fmt.Sprintf("timed out after %d ms", e.TimeoutMs)
	}
	if e.Dropped > 0 {
		detail += fmt.Sprintf(", %d bytes of output could not be written", e.Dropped)
	}
	o.Detail = &detail
	return o
}
