package process

import (
	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// realtimeLimit is the soft limit in which a keeper puts its mark; 0 of a process
// that cannot be asked.
func realtimeLimit(pid int) uint64 {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_RTTIME, nil, &limit); err != nil {
		return 0
	}
	return limit.Cur
}

// unmark takes from this process the mark of a task that it was started in (a
// command may be what starts the daemon), so that the spare keepers that it forks
// are not of that task's tree.
func unmark() {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_RTTIME, &limit) == nil && limit.Cur >= wire.LeastMark {
		_ = unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: limit.Max, Max: limit.Max})
	}
}
