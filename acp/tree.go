package acp

import (
	"errors"
	"syscall"
	"time"
)

// tree is the agent's process and all that comes from it: its process group,
// and what [descendants] finds beside that. A daemon that a descendant started
// is none of it: it was forked twice.
type tree struct {
	pid  int
	find func(pid int) []process // finds descendants, parents before children
	seen []process               // found before the agent ended; afterwards the links are gone

	awaited bool          // a look will be taken
	took    time.Duration // the last one
}

// process is a process that is not taken for another one with its pid.
type process struct {
	pid   int
	birth string
}

// look remembers who descends from the agent now. One that has ended has lost its
// children to init: then what was seen last stands.
func (t *tree) look() {
	began := time.Now()
	seen := t.find(t.pid)
	if birthOf(t.pid) != "" {
		t.seen = seen
	}
	t.took = time.Since(began)
}

// signal sends a signal to the whole tree, leaves first.
func (t *tree) signal(sig syscall.Signal) {
	for i := len(t.seen) - 1; i >= 0; i-- {
		if p := t.seen[i]; p.pid > 1 && birthOf(p.pid) == p.birth {
			_ = syscall.Kill(p.pid, sig)
		}
	}
	_ = syscall.Kill(-t.pid, sig)
}

// left reports whether something of the tree is still there.
func (t *tree) left() bool {
	if err := syscall.Kill(-t.pid, 0); err == nil || errors.Is(err, syscall.EPERM) {
		return true
	}
	for _, p := range t.seen {
		if birthOf(p.pid) == p.birth {
			return true
		}
	}
	return false
}

const (
	// lookAfter is from something said by or to the agent, or its start, to a
	// look at what it has started since.
	lookAfter = 300 * time.Millisecond
	// lookShare is the part of its time, 1 in so many, that the loop may look.
	lookShare = 100
)

// lookSoon looks at the agent's tree a moment after something has happened there:
// an agent that crashes is no warning.
func (p *proxy) lookSoon() {
	c := p.life
	if c == nil || c.tree == nil || c.exited || c.tree.awaited {
		return
	}
	c.tree.awaited = true
	p.after(max(lookAfter, lookShare*c.tree.took), func() {
		c.tree.awaited = false
		if !c.exited {
			c.look()
		}
	})
}

func (c *child) look() {
	if c.tree != nil {
		c.tree.look()
	}
}

func (c *child) signal(sig syscall.Signal) {
	if c.tree != nil {
		c.tree.signal(sig)
	}
}
