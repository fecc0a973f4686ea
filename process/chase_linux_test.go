package process

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// chains is a command with four processes that fork, leave their session and end,
// again and again: no link of them lives longer than a fork takes. All hold the lock
// of the file "held". They end by themselves once "enough" is there, or after a minute.
const chains = `exec 9> held; flock 9; python3 -c '
import os, sys, time
end = time.time() + 60
for n in range(4):
    if os.fork(): continue
    os.setsid()
    open("begun%d" % n, "w").close()
    while time.time() < end and not os.path.exists("enough"):
        if os.fork(): os._exit(0)
        os.setsid()
    break
' > /dev/null 2>&1; exec 9>&-; sleep 1000`

// TestSweepCatchesChains: when its keeper is killed, a command's tree is ended also
// where each process of it is gone before it can be looked at, but for its child.
func TestSweepCatchesChains(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	t.Cleanup(func() { touch(t, dir, "enough") })
	task := w.start(chains, func(s *Spec) { s.Cwd = dir })
	for n := range 4 {
		w.awaitFile(filepath.Join(dir, "begun"+string(rune('0'+n))))
	}
	w.killKeeperOf(task)
	w.lost(w.wait(task))
	held, err := os.Open(filepath.Join(dir, "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_SH|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		t.Error("a chain goes on after its task was told as lost")
	} else if err != nil {
		t.Fatal(err)
	}
}
