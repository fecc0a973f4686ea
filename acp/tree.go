package acp

import (
	"errors"
	"syscall"
)

// tree is the agent's process and all that comes from it: its process group,
// and what [descendants] finds beside that. A daemon that a descendant started
// is none of it: it was forked twice.
type tree struct {
	pid  int
	seen []process // found before the agent ended; afterwards the links are gone
}

// process is a process that is not taken for another one with its pid.
type process struct {
	pid   int
	birth string
}

// look remembers who descends from the agent now.
func (t *tree) look() { t.seen = descendants(t.pid) }

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
