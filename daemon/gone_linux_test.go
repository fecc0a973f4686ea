package daemon_test

import (
	"errors"

	"golang.org/x/sys/unix"
)

// watch gives a function that waits for the end of a process. Its lock would not
// do: a client may have a successor started that has it by then.
func (w *world) watch(pid int) (awaitEnd func()) {
	w.t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return func() {}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		defer func() { _ = unix.Close(fd) }()
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if err == nil {
				return
			}
			if !errors.Is(err, unix.EINTR) {
				w.t.Fatalf("waiting for pid %d to be gone: %v", pid, err)
			}
		}
	}
}
