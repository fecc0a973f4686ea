package process

import (
	"os"
	"strings"

	"sidetask/registry"
)

// lostTask is a task whose keeper ended without a record, or before its leftovers.
type lostTask struct {
	row     registry.Row
	why     string
	settled bool          // its end was told: it lost its leftovers only
	gone    chan struct{} // closed when its end is told; nil: no keeper of it was known here
}

// abandoned takes away the control socket of a keeper that has ended, and reports
// whether it was there: one that ends in order does so itself, and not before
// nothing of its tree is left.
func (p *Producer) abandoned(row registry.Row) bool { return os.Remove(p.control(row)) == nil }

// lose has the end of a task told once what it left running is ended. That may
// take long (all processes of the system are looked at, more than once), so
// settleLost does it: ends of other tasks do not wait for it.
func (p *Producer) lose(t lostTask) {
	p.mu.Lock()
	p.lost = append(p.lost, t)
	p.mu.Unlock()
	select {
	case p.losing <- struct{}{}:
	default: // told already
	}
}

// settleLost ends what lost tasks left running, all that came meanwhile in one
// sweep, and tells of their ends; until Close. To those that it did not get to,
// the next daemon does it: it finds neither keeper nor record.
func (p *Producer) settleLost() {
	for {
		select {
		case <-p.losing:
		case <-p.stop:
			return
		}
		p.mu.Lock()
		tasks := p.lost
		p.lost = nil
		p.mu.Unlock()
		rows := make([]registry.Row, len(tasks))
		for i, t := range tasks {
			rows[i] = t.row
		}
		p.sweep(rows...)
		if p.life.Err() != nil {
			return
		}
		for _, t := range tasks {
			if t.settled {
				p.registry.Changed(t.row)
			} else {
				p.registry.Settle(t.row, lost(t.why+p.lastWords(t.row)))
			}
			if t.gone != nil {
				close(t.gone)
			}
		}
	}
}

// lost is the outcome of a command whose end nobody saw: no code is invented.
func lost(why string) registry.Outcome {
	detail := "lost: " + why
	return registry.Outcome{Status: registry.Failed, Detail: &detail}
}

// lastWords is what a keeper that crashed left in its file: the first line that
// is none of its own.
func (p *Producer) lastWords(row registry.Row) string {
	text, err := os.ReadFile(p.lockFile(row))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "format=") {
			return ": " + strings.ToValidUTF8(line[:min(len(line), maxWords)], "")
		}
	}
	return ""
}

// maxWords bounds what of them is in a detail.
const maxWords = 200
