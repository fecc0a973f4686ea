package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sidetask/process/wire"
	"sidetask/registry"
)

// made is a maker of groups for tests.
type made struct {
	root  string
	wrong error
	born  int // calls of done
}

func (m *made) Open(_ context.Context, name string) (string, func(), error) {
	if m.wrong != nil {
		return "", nil, m.wrong
	}
	dir, err := os.MkdirTemp(m.root, "task-"+name+"-*")
	return dir, func() { m.born++ }, err
}

// A limit that cannot be had refuses the start, in its words, and leaves nothing.
func TestGroupRefused(t *testing.T) {
	w := newWorld(t)
	w.p.groups = &made{wrong: errors.New("memoryMax cannot be enforced here")}
	_, err := w.p.Start(w.context(), registry.AsOperator(), Spec{Command: "echo hi", Cwd: "/"})
	if err == nil || !strings.Contains(err.Error(), "memoryMax cannot be enforced here") {
		t.Errorf("start: %v", err)
	}
	if left, err := os.ReadDir(w.paths.Tasks()); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	w.p.groups = nil
	w.is(w.wait(w.start("true")), registry.Completed, "exit code: 0")
}

// A group that the command cannot be born into is a spawn that failed (T192).
func TestGroupGone(t *testing.T) {
	w := newWorld(t)
	w.p.groups = &made{root: t.TempDir()} // ordinary folders
	task := w.wait(w.start("true"))
	if task.Status != registry.Failed || !strings.HasPrefix(detail(task), "spawn failed: ") {
		t.Errorf("ended %s, %s", task.Status, detail(task))
	}
}

// With a group a kill is one write, time counts what nobody waited for, a later
// daemon knows it, and it goes when nothing is left.
func TestGroup(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting cgroup2 needs root; scripts/test-systemd shows the same as a user")
	}
	mount := t.TempDir()
	if err := syscall.Mount("none", mount, "cgroup2", 0, ""); err != nil {
		t.Skipf("mounting cgroup2 is not possible here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	root := filepath.Join(mount, fmt.Sprintf("sidetask-process-test-%d", os.Getpid()))
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Rmdir(root); err != nil { // fails while a task's group is there
			t.Error(err)
		}
	})
	groups := &made{root: root}
	w := newWorld(t)
	w.p.groups = groups
	task := w.start(`cat /proc/self/cgroup; (setsid sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo burnt; exec sleep 600' &); exec sleep 600`)
	text := w.until(task, "burnt")
	if groups.born != 1 || !strings.Contains(text, "/task-"+name(task.Row)+"-") {
		t.Errorf("done was called %d times, the command is in %s", groups.born, text)
	}
	if f := w.registry.Facts(task); f.CPUMs == nil || *f.CPUMs < 5 {
		t.Errorf("facts %+v: no time of a child that nobody waits for", f)
	}
	w.restart() // groups are not for the keeper to lose
	k, ok := w.p.find(task.Row)
	if !ok || !strings.HasPrefix(k.group, root) {
		t.Fatalf("adopted: %+v, %t", k, ok)
	}
	w.settings.StopGraceMs = 0
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); err != nil {
		t.Fatal(err)
	}
	w.wait(task)
	w.gone(task)
	if _, err := os.Stat(k.group); !os.IsNotExist(err) {
		t.Errorf("the group is left: %v", err)
	}
	if e, ok, _ := w.p.anyRecord(task.Row); !ok || e.CPUMs < 5 || e.OutOfMemory {
		t.Errorf("the record says %+v", e)
	}
}

// An end by the memory limit is told as such (T191); one that the command
// survived is not, nor one that had another cause.
func TestOutOfMemory(t *testing.T) {
	for _, c := range []struct {
		e      wire.Exit
		status registry.Status
		detail string
	}{
		{wire.Exit{Signal: 9, OutOfMemory: true}, registry.Failed, "out of memory"},
		{wire.Exit{Code: 137, OutOfMemory: true, MemoryPeak: 64 << 20}, registry.Failed, "out of memory"},
		{wire.Exit{Code: 0, OutOfMemory: true}, registry.Completed, "exit code: 0"},
		{wire.Exit{Signal: 9, OutOfMemory: true, Cause: wire.CauseStop}, registry.Killed, "signal: SIGKILL"},
		{wire.Exit{Signal: 9, OutOfMemory: true, Cause: wire.CauseTimeout, TimeoutMs: 5}, registry.Killed, "timed out after 5 ms"},
		{wire.Exit{Signal: 9}, registry.Killed, "signal: SIGKILL"},
	} {
		o := outcome(c.e)
		if o.Status != c.status || o.Detail == nil || *o.Detail != c.detail {
			t.Errorf("%+v ends %s, %q; want %s, %q", c.e, o.Status, *o.Detail, c.status, c.detail)
		}
	}
}
