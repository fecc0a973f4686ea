package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"sidetask/process/wire"
	"sidetask/registry"

	"golang.org/x/sys/unix"
)

// bystander is a process that is no task's, whatever a record says of its pid.
func bystander(t *testing.T, env ...string) int {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// unharmed checks that a process neither ended nor was stopped.
func unharmed(t *testing.T, pid int) {
	t.Helper()
	if fields, err := statFields(pid); err != nil || strings.Contains("ZXTt", fields[0]) {
		t.Errorf("process %d, which is no task's, is in state %v, %v", pid, fields, err)
	}
}

// TestForeignKeeper: nothing outside of a task's tree is signalled, even where its
// record names another process: one that has the pid of its keeper now (another
// start time), or one of before the machine was restarted (another boot), though
// that one has each mark that a sweep goes by.
func TestForeignKeeper(t *testing.T) {
	for _, c := range []struct {
		name    string
		forge   func(*wire.Alive)
		locked  bool
		outcome string
	}{
		{"another start time", func(a *wire.Alive) { a.Start++ }, false, "neither its keeper nor a record of its end is there"},
		{"another start time, and the lock is held", func(a *wire.Alive) { a.Start++ }, true, "its keeper ended"},
		{"another boot", func(a *wire.Alive) { a.Boot = "another" }, false, "the machine was restarted"},
		{"another boot, and the lock is held", func(a *wire.Alive) { a.Boot = "another" }, true, "its keeper ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			task := w.start("echo ready; sleep 1000")
			w.until(task, "ready")
			keeper := w.keeperOf(task)
			w.end()
			if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			awaitGone(t, keeper)
			a, err := w.signature(task.Row)
			if err != nil {
				t.Fatal(err)
			}
			sleeper := bystander(t, "SIDETASK_SOCKET="+w.socket(), "SIDETASK_TASK="+name(task.Row))
			a.Keeper, a.Command, a.Group = sleeper, sleeper, ""
			if a.Start, err = startTime(sleeper); err != nil {
				t.Fatal(err)
			}
			c.forge(&a)
			w.forge(task.Row, a, c.locked)
			w.begin()
			w.is(w.wait(task), registry.Failed, "lost: "+c.outcome)
			if n, err := w.p.EndLeftovers(task.Row); n != 0 && err == nil {
				t.Errorf("%d leftovers of a task without keeper were ended", n)
			}
			unharmed(t, sleeper)
		})
	}
}

// signature reads the signature of a keeper while no daemon runs.
func (w *world) signature(row registry.Row) (wire.Alive, error) {
	return (&Producer{paths: w.paths}).signed(row)
}

// forge replaces a keeper's signature; locked: somebody holds its lock until the
// test has ended.
func (w *world) forge(row registry.Row, a wire.Alive, locked bool) {
	w.Helper()
	path := (&Producer{paths: w.paths}).lockFile(row)
	err := os.Remove(path)
	if err == nil {
		err = os.WriteFile(path, wire.Encode(&a), 0o600)
	}
	if err != nil {
		w.Fatal(err)
	}
	if !locked {
		return
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = file.Close() })
}

// TestSweepNeedsThisBoot: the same marks that are worth nothing after a restart of
// the machine do end a process of a task whose keeper ran in this one.
func TestSweepNeedsThisBoot(t *testing.T) {
	w := newWorld(t)
	const row = registry.Row(77)
	if err := os.MkdirAll(w.p.dir(row), 0o700); err != nil {
		t.Fatal(err)
	}
	pid := bystander(t, "SIDETASK_SOCKET="+w.socket(), "SIDETASK_TASK="+name(row))
	start, err := startTime(pid)
	if err != nil {
		t.Fatal(err)
	}
	touch(t, w.p.dir(row), filepath.Base(w.p.lockFile(row)))
	for _, c := range []struct {
		a     wire.Alive
		swept int
	}{
		{wire.Alive{Format: wire.Format, Start: start, Boot: "another"}, 0},
		{wire.Alive{Format: wire.Format, Start: start + 1, Boot: bootID()}, 0}, // it is older than the keeper
		{wire.Alive{Format: wire.Format, Start: start, Boot: bootID()}, 1},
	} {
		w.forge(row, c.a, false)
		if c.swept == 0 {
			unharmed(t, pid)
		}
		if n := w.p.sweep(row); n != c.swept {
			t.Errorf("%+v: %d processes were ended, want %d", c.a, n, c.swept)
		}
	}
}

// TestUnreadableDirectory: a working directory that the user may not enter is an
// error of the call that says so (T192). Where the test is root, another user asks.
func TestUnreadableDirectory(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o600); err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread goes with its user
		if os.Getuid() == 0 {
			const nobody = 65534
			if err := os.Chown(dir, nobody, nobody); err != nil {
				said <- err
				return
			}
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 { // of this thread alone
				said <- errno
				return
			}
		}
		_, err := w.p.Start(w.context(), registry.AsOperator(), Spec{Command: "true", Cwd: dir, Env: map[string]string{"PATH": os.Getenv("PATH")}})
		said <- err
	}()
	if err := <-said; err == nil || !strings.Contains(err.Error(), "working directory "+dir+" cannot be ") || !strings.Contains(err.Error(), ": permission denied; give another one") {
		t.Errorf("a start in a directory that cannot be entered: %v", err)
	}
	w.nothingLeft()
}

// TestNoTerminalToReadFrom: a command without a terminal cannot be stopped by
// reading from one (SIGTTIN): it has none, and no session that does. One with a
// terminal whose background job is stopped so is still ended.
func TestNoTerminalToReadFrom(t *testing.T) {
	w := newWorld(t)
	task := w.wait(w.start("set -m; (cat < /dev/tty || echo none) & wait; cat < /dev/tty || echo none"))
	w.is(task, registry.Completed, "exit code: 0")
	if text := w.read(task); strings.Count(text, "none\n") != 2 {
		t.Errorf("read %q", text)
	}
	stopped := w.start("set -m; cat < /dev/tty & echo job $! ready; wait; sleep 1000", func(s *Spec) { s.PTYCols, s.PTYRows = 80, 24 })
	w.until(stopped, "ready")
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), stopped.ID, nil); err != nil {
		t.Fatal(err)
	}
	if ended := w.wait(stopped); ended.Status != registry.Killed {
		t.Errorf("the command with a stopped job ended %s", ended.Status)
	}
}

// TestFeedback: a task that prints what is kept of its own output, again and
// again, has no more on disk than any other.
func TestFeedback(t *testing.T) {
	w := newWorld(t)
	w.settings.SpoolBytes, w.settings.KeepHeadBytes = 1<<20, 64<<10
	folder := w.paths.Tasks()
	task := w.start("echo begin; for i in 1 2 3 4 5 6 7 8 9 10; do cat " + folder + "/$SIDETASK_TASK/" + wire.OutDir + "/* | head -c 2000000; done; echo over; sleep 1000")
	w.until(task, "over\n")
	if facts := w.registry.Facts(task); facts.Disk > 1<<20 || facts.Bytes < 100 {
		t.Errorf("%d bytes on disk of %d", facts.Disk, facts.Bytes)
	}
	if text := w.read(task); !strings.HasPrefix(text, "begin\n") || len(text) > 1<<20+100 {
		t.Errorf("%d bytes are read, %.20q…", len(text), text)
	}
}
