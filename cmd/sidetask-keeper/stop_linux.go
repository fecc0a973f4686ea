package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// stopping is a stop under way.
type stopping struct {
	next time.Time // when the tree is killed (again)
	// pause between two rounds of killing: short at first, since what forked
	// while it was killed is caught so; longer for what the kernel holds on to.
	pause time.Duration
}

const (
	firstPause = 2 * time.Millisecond
	lastPause  = time.Second
)

// stop sends TERM to the whole tree at once, and KILL after the grace (T198).
// The first cause of an end stays. A second stop never makes the grace longer.
func (k *keeper) stop(cause string, grace time.Duration) (signalled int) {
	if k.cause == "" && k.ended == nil {
		k.cause = cause
	}
	at := time.Now().Add(max(grace, 0))
	if k.stopping != nil {
		if at.Before(k.stopping.next) {
			k.stopping.next = at
		}
		return len(k.tree())
	}
	k.stopping = &stopping{next: at, pause: firstPause}
	return k.signalTree(unix.SIGTERM)
}

// killTree kills everything below the keeper, round after round until nothing
// is left: what forks meanwhile is found in the next one.
func (k *keeper) killTree() {
	killGroup(k.job.Group)
	k.signalTree(unix.SIGKILL)
	s := k.stopping
	s.next = time.Now().Add(s.pause)
	s.pause = min(2*s.pause, lastPause)
}
