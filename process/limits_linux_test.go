package process

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"sidetask/registry"
	"sidetask/spool"

	"golang.org/x/sys/unix"
)

// fileLimit bounds the size of every file that a process writes: to it, a disk
// that is full.
func fileLimit(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk: while the disk takes no more, the command waits and nothing is
// lost; when there is room again, it all goes on by itself. A kill is heard
// meanwhile.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	const command = "while [ ! -e go ]; do sleep 0.01; done; seq 1 100000; echo end"
	in := func(s *Spec) { s.Cwd = dir }
	task, killed := w.start(command, in), w.start(command+"; sleep 1000", in)
	fileLimit(t, w.keeperOf(task), 10_000)
	fileLimit(t, w.keeperOf(killed), 10_000)
	touch(t, dir, "go")
	for _, full := range []registry.Task{task, killed} {
		eventually(t, "the disk is full", func() bool { return w.registry.Facts(full).Bytes == 10_000 })
	}
	if other := w.wait(w.start("echo fine")); w.read(other) != "fine\n" {
		t.Error("another task suffers from it")
	}
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), killed.ID, nil); err != nil {
		t.Fatal(err)
	}
	fileLimit(t, w.keeperOf(task), unix.RLIM_INFINITY)
	w.is(w.wait(task), registry.Completed, "exit code: 0")
	var want strings.Builder
	for i := 1; i <= 100_000; i++ {
		want.WriteString(name(registry.Row(i)) + "\n")
	}
	want.WriteString("end\n")
	if text := w.read(task); text != want.String() {
		t.Errorf("%d bytes arrived of %d", len(text), want.Len())
	}
	fileLimit(t, w.keeperOf(killed), unix.RLIM_INFINITY)
	if ended := w.wait(killed); ended.Status != registry.Killed {
		t.Errorf("the killed one ended %s", ended.Status)
	}
}

// TestFullDiskToTheEnd: an end is told though the disk stays full, with how much
// of the output could not be kept.
func TestFullDiskToTheEnd(t *testing.T) {
	t.Parallel() // it waits for the keeper's patience
	w := newWorld(t)
	dir := t.TempDir()
	task := w.start("while [ ! -e go ]; do sleep 0.01; done; head -c 15000 /dev/zero", func(s *Spec) { s.Cwd = dir })
	fileLimit(t, w.keeperOf(task), 10_000)
	touch(t, dir, "go")
	w.is(w.wait(task), registry.Completed, "exit code: 0, 5000 bytes of output could not be written")
}

// noDescriptors takes all free descriptors from this process, until restore is called.
func noDescriptors(t *testing.T) (restore func()) {
	t.Helper()
	var had unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &had); err != nil {
		t.Fatal(err)
	}
	set := func(limit unix.Rlimit) {
		t.Helper()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}
	// What is open stays so, and whatever is closed meanwhile is no room.
	set(unix.Rlimit{Cur: 3, Max: had.Max})
	return func() { set(had) }
}

// TestNoDescriptors: a daemon that has no descriptors left refuses a start with
// an error that says so, and recovers by itself.
func TestNoDescriptors(t *testing.T) {
	w := newWorld(t)
	w.wait(w.start("true"))
	restore := noDescriptors(t)
	_, err := w.p.Start(w.context(), registry.AsOperator(), Spec{Command: "true", Cwd: "/", Env: map[string]string{"PATH": "/usr/bin:/bin"}})
	restore()
	if err == nil || !strings.Contains(err.Error(), "too many open files") {
		t.Errorf("start without descriptors: %v", err)
	}
	w.is(w.wait(w.start("exit 3")), registry.Completed, "exit code: 3")
	if n := len(w.registry.List(registry.AsOperator(), true)); n != 2 {
		t.Errorf("%d tasks, want those two that ran", n)
	}
}

// TestWithoutInotify: where inotify is not to be had, ends, leftovers, followers
// and waits for text come all the same, and the person is told.
func TestWithoutInotify(t *testing.T) {
	w := newWorld(t)
	w.end()
	w.watcher = spool.NewPoller()
	w.begin()
	if len(w.p.Warnings()) == 0 {
		t.Error("nothing is said of it")
	}
	w.is(w.wait(w.start("exit 4")), registry.Completed, "exit code: 4")
	task := w.start("echo one; sleep 0.1; echo two; sleep 1000 & sleep 0.1; exit 5")
	if _, _, err := w.registry.WaitMatch(w.context(), registry.AsOperator(), task.ID, float64(patience.Milliseconds()), regexp.MustCompile("two")); err != nil {
		t.Error(err)
	}
	w.until(task, "two\n")
	w.is(w.wait(task), registry.Completed, "exit code: 5")
}

// TestWriteToTheDeaf: input that a command does not take waits until its asker
// gives up, and holds up nobody.
func TestWriteToTheDeaf(t *testing.T) {
	w := newWorld(t)
	task := w.start("echo ready; sleep 1000", stdin)
	w.until(task, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	n, err := w.registry.Write(ctx, registry.AsOperator(), task.ID, registry.WriteRequest{Data: make([]byte, 1<<20)})
	if err == nil || n >= 1<<20 {
		t.Errorf("a deaf command took %d bytes, %v", n, err)
	}
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); err != nil {
		t.Fatal(err)
	}
	if ended := w.wait(task); ended.Signal != "SIGTERM" {
		t.Errorf("ended by %q", ended.Signal)
	}
}
