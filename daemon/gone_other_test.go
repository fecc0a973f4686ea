//go:build !linux

package daemon_test

import (
	"os"
	"syscall"
)

// watch gives a function that waits for the end of a daemon: for the
// single-instance lock to be free.
func (w *world) watch(pid int) (awaitEnd func()) {
	return func() {
		w.t.Helper()
		file, err := os.Open(w.paths.Lock())
		if err != nil {
			w.t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		// Blocks until the holder's descriptors are closed, which its death does.
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			w.t.Fatalf("waiting for pid %d to be gone: %v", pid, err)
		}
	}
}
