package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sidetask/process/wire"
	"sidetask/registry"

	"golang.org/x/sys/unix"
)

// killKeeperOf kills the keeper of a task alone.
func (w *world) killKeeperOf(t registry.Task) {
	w.Helper()
	if err := syscall.Kill(w.keeperOf(t), syscall.SIGKILL); err != nil {
		w.Fatal(err)
	}
}

// TestCleanLeftover: what threw away all that it could of its descent (variables,
// session, output, parents) is ended all the same when its keeper is killed,
// whether or not a daemon was there, and nothing else is.
func TestCleanLeftover(t *testing.T) {
	w := newWorld(t)
	unmarked := bystander(t)
	for _, daemon := range []bool{true, false} {
		dir := t.TempDir()
		task := w.start("env -i setsid bash -c 'echo $$ > new; mv new pid; exec sleep 1000' > /dev/null 2>&1 < /dev/null & sleep 1000", func(s *Spec) { s.Cwd = dir })
		other := w.start("echo $$ ready; sleep 1000")
		w.until(other, "ready")
		w.awaitFile(filepath.Join(dir, "pid"))
		if daemon {
			w.killKeeperOf(task)
		} else {
			keeper := w.keeperOf(task)
			w.end()
			if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			awaitGone(t, keeper)
			w.begin()
		}
		w.lost(w.wait(task))
		pid, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil || len(alivePIDs(string(pid))) > 0 {
			t.Errorf("daemon there: %v; process %s runs on, %v", daemon, pid, err)
		}
		if alive := alivePIDs(w.read(other)); len(alive) != 1 {
			t.Error("another task's process was ended")
		}
	}
	unharmed(t, unmarked)
}

// TestLeftoverWithoutKeeper: what an ended command left running is ended when its
// keeper is killed, for then nobody could end it or would know of it any more;
// whether or not a daemon was there.
func TestLeftoverWithoutKeeper(t *testing.T) {
	w := newWorld(t)
	for _, daemon := range []bool{true, false} {
		task := w.start("trap '' TERM; sleep 1000 > /dev/null 2>&1 & echo $!")
		w.is(w.wait(task), registry.Completed, "exit code: 0")
		pid, err := strconv.Atoi(strings.TrimSpace(w.read(task)))
		if err != nil {
			t.Fatal(err)
		}
		keeper := w.keeperOf(task)
		if daemon {
			w.killKeeperOf(task)
			w.gone(task)
		} else {
			w.end()
			if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			awaitGone(t, keeper)
			w.begin()
		}
		awaitGone(t, pid)
		task, err = w.registry.Get(registry.AsOperator(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		w.is(task, registry.Completed, "exit code: 0")
	}
}

// TestSweepHoldsUpNoEnds: while what a killed keeper left is looked for, however
// long that takes, the ends of other tasks' trees are told. Here it takes until
// somebody reads a pipe that stands where the control group's file would.
func TestSweepHoldsUpNoEnds(t *testing.T) {
	w := newWorld(t)
	task := w.start("echo ready; sleep 1000")
	w.until(task, "ready")
	a, err := w.p.signed(task.Row)
	if err != nil {
		t.Fatal(err)
	}
	a.Group = t.TempDir()
	fifo := filepath.Join(a.Group, "cgroup.kill")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	w.forge(task.Row, a, false)
	w.killKeeperOf(task)
	eventually(t, "the keeper's end is known", func() bool { _, ok := w.p.find(task.Row); return !ok })

	other := w.wait(w.start("sleep 1000 &"))
	if n, err := w.p.EndLeftovers(other.Row); n != 1 || err != nil {
		t.Errorf("%d leftovers were ended, %v", n, err)
	}
	w.gone(other)

	if now, err := w.registry.Get(registry.AsOperator(), task.ID); err != nil || now.Status != registry.Running {
		t.Errorf("the task is %s before what it left has ended, %v", now.Status, err)
	}
	reader, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	w.is(w.wait(task), registry.Failed, "lost: its keeper was killed")
}

// TestDaemonInATask: a daemon that a command started has not that command's mark,
// nor do its keepers before they have a command of their own.
func TestDaemonInATask(t *testing.T) {
	const foreign = wire.LeastMark + 4711
	if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: foreign, Max: unix.RLIM_INFINITY}); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	k, err := w.p.spare.take()
	if err != nil {
		t.Fatal(err)
	}
	defer k.end()
	for _, pid := range []int{0, k.pid} { // 0: this one, whoever a test made its first thread
		if limit := realtimeLimit(pid); limit == foreign || limit < wire.LeastMark {
			t.Errorf("process %d has the limit %d", pid, limit)
		}
	}
}
