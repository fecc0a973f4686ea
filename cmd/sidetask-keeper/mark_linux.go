package main

import (
	"math/rand/v2"

	"golang.org/x/sys/unix"
)

// leastMark keeps marks so large that they limit nothing: as microseconds, longer
// than there has been anybody to count them.
const leastMark = 1 << 62

// mark gives the command's whole tree a mark by which a daemon finds it should
// this keeper be killed: the soft limit of the time that a process with real-time
// scheduling may run without a pause (RLIMIT_RTTIME). Of all that a child inherits
// it is the one thing that nobody throws away by cleaning up: not with the
// environment, the session, the working directory or what is open. Where somebody
// has set a limit there that means something it stays, and there is no mark.
func (k *keeper) mark() {
	var had unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &had) != nil || had.Cur < leastMark {
		return
	}
	mark := leastMark | rand.Uint64N(leastMark)
	if had.Max < mark {
		return
	}
	if unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: had.Max}) == nil {
		k.me.Mark = mark
	}
}
