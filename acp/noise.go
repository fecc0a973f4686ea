package acp

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// noiseLimit is how much may wait for whoever reads stderr.
const noiseLimit = 1 << 20

// noise is the way to stderr: from the agent, and from us. Whoever does not read
// that loses it, is told how much, and holds nobody up. [Run] owns its writer.
type noise struct {
	mu      sync.Mutex // guards all below
	waiting []byte
	lost    int // bytes that found no room since the last that did
	over    bool

	more chan struct{} // there is something in waiting, or it is over
	done chan struct{} // closed when the writer has ended
}

// newNoise starts the writer. [noise.end] ends it.
func newNoise(w io.Writer) *noise {
	n := &noise{more: make(chan struct{}, 1), done: make(chan struct{})}
	go n.writeAll(w)
	return n
}

// Write never waits and never fails: an agent must not die of a stderr of ours.
func (n *noise) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.over:
		return len(b), nil
	case len(n.waiting)+len(b) > noiseLimit:
		n.lost += len(b)
		return len(b), nil
	}
	n.tellLost()
	n.waiting = append(n.waiting, b...)
	n.wake()
	return len(b), nil
}

// tellLost puts in what was dropped. mu is held.
func (n *noise) tellLost() {
	if n.lost > 0 {
		n.waiting = fmt.Appendf(n.waiting, "\nsidetask: acp: %d bytes for stderr were dropped here: nobody read it\n", n.lost)
		n.lost = 0
	}
}

// wake has the writer look. mu is held.
func (n *noise) wake() {
	select {
	case n.more <- struct{}{}:
	default:
	}
}

// take gives the writer what waits.
func (n *noise) take() (b []byte, over bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b, n.waiting = n.waiting, nil
	return b, n.over
}

// writeAll is the writer.
func (n *noise) writeAll(w io.Writer) {
	defer close(n.done)
	for range n.more {
		b, over := n.take()
		if len(b) > 0 {
			_, _ = w.Write(b)
		}
		if over {
			return
		}
	}
}

// end has the writer write what waits and ends it. A write that nobody takes
// within patience is left to the end of the program: nothing else can end it.
func (n *noise) end(patience time.Duration) {
	n.mu.Lock()
	n.tellLost()
	n.over = true
	n.wake()
	n.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-n.done:
	case <-timer.C:
	}
}
