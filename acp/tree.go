package acp

import (
	"context"
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
	if seen, ok := t.scan(); ok {
		t.seen = seen
	}
}

// scan finds who descends from the agent; ok is false when that has ended. It may
// be called beside the loop.
func (t *tree) scan() (seen []process, ok bool) {
	seen = t.find(t.pid)
	return seen, birthOf(t.pid) != ""
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
	// lookShare is the part of the time, 1 in so many, that looks may take.
	lookShare = 50
)

// lookSoon looks at the agent's tree a moment after something has happened there:
// an agent that crashes gives no warning. The loop does not wait for that.
func (p *proxy) lookSoon() {
	c := p.life
	if c == nil || c.tree == nil || c.exited || c.tree.awaited {
		return
	}
	c.tree.awaited = true
	p.after(max(lookAfter, lookShare*c.tree.took), func() {
		p.background.start(func(context.Context) {
			began := time.Now()
			seen, ok := c.tree.scan()
			took := time.Since(began)
			p.post(func() {
				c.tree.awaited, c.tree.took = false, took
				if ok {
					c.tree.seen = seen
				}
			})
		})
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
