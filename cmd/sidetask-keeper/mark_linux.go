package main

import (
	"math/rand/v2"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// mark gives the command's whole tree a mark by which a daemon finds it should
// this keeper be killed: the soft limit of the time that a process with real-time
// scheduling may run without a pause (RLIMIT_RTTIME). Of all that a child inherits
// it is the one thing that nobody throws away by cleaning up: not with the
// environment, the session, the working directory or what is open. Where somebody
// has set a limit there that means something it stays, and there is no mark.
func (k *keeper) mark() {
	var had unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &had) != nil || had.Cur < wire.LeastMark {
		return
	}
	mark := wire.LeastMark | rand.Uint64N(wire.LeastMark)
	if had.Max < mark {
		return
	}
	if unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: mark, Max: had.Max}) == nil {
		k.me.Mark = mark
	}
}
