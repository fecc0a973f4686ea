package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// A task goes on while the daemon is dead; its output, exit status and notice
// are right afterwards (FIELD: "task ended while daemon was down").
func TestTaskEndsWhileNoDaemonRuns(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	gate := filepath.Join(w.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	done := filepath.Join(w.dir, "done")
	if err := syscall.Mkfifo(done, 0o600); err != nil {
		t.Fatal(err)
	}
	task := w.start(c, "echo before; read x < "+gate+"; echo after; exec 9> "+done+"; exit 7")
	w.kill()
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(done); err != nil { // EOF: the command has ended
		t.Fatal(err)
	}
	c = w.dial()
	ended := w.wait(c, task.ID)
	if ended.Status != rpc.StatusCompleted || ended.Detail == nil || *ended.Detail != "exit code: 7" {
		t.Errorf("after the restart: %v %v, want completed, exit code: 7", ended.Status, ended.Detail)
	}
	if got := w.tail(c, task.ID); got != "before\nafter\n" {
		t.Errorf("output %q", got)
	}
}

// A restart in place keeps pid, socket, tasks and their output; the connection
// ends, and the next one is answered.
func TestRestartInPlace(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	pid := w.pid()
	task := w.start(c, "echo before; cat > /dev/null; sleep 0.3; echo after")
	w.call(c, rpc.MethodDaemonRestart, rpc.DaemonRestart{}, nil)
	<-c.Done()
	c = w.dial()
	var status rpc.DaemonStatus
	w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, &status)
	if status.PID != pid {
		t.Errorf("pid %d after the restart, was %d%s", status.PID, pid, w.log())
	}
	if ended := w.wait(c, task.ID); ended.Status != rpc.StatusCompleted {
		t.Errorf("%v %v", ended.Status, ended.Detail)
	}
	if got := w.tail(c, task.ID); got != "before\nafter\n" {
		t.Errorf("output %q", got)
	}
}

// A binary that cannot take over is refused before anything is given up.
func TestRestartRefusesWhatDoesNotRun(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	for program, said := range map[string]string{
		"true":  "said nothing",
		"false": "said nothing and failed (exit status 1)",
		"echo":  `said "daemon --check"`,
	} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		want := path + " is no sidetask that could be the daemon here: asked by `daemon --check`, it " + said + "; the daemon goes on as it is"
		if err := c.Call(w.ctx, rpc.MethodDaemonRestart, rpc.DaemonRestart{Executable: path}, nil); err == nil || err.Error() != want {
			t.Errorf("restart as %s: %v, want %s", path, err, want)
		}
	}
	w.start(c, "true")
}

// Twenty clients at once find or start one daemon (FIELD, API Socket).
func TestTwentyAtOnceLeaveOne(t *testing.T) {
	w := newWorld(t)
	pids := make([]int, 20)
	var group sync.WaitGroup
	for i := range pids {
		group.Go(func() {
			out, err := w.command("status", "--json").Output()
			if err != nil {
				t.Errorf("status: %v %s", err, stderrOf(err))
				return
			}
			var status struct{ PID int }
			if err := json.Unmarshal(out, &status); err != nil {
				t.Error(err)
			}
			pids[i] = status.PID
		})
	}
	group.Wait()
	for _, pid := range pids {
		if pid != pids[0] || pid == 0 {
			t.Fatalf("more than one daemon answered: %v", pids)
		}
	}
}

// A second daemon on the same state says where the first listens, and ends.
func TestSecondDaemonSaysWhereTheFirstListens(t *testing.T) {
	w := newWorld(t)
	w.dial()
	out, err := w.command("daemon").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 75 {
		t.Errorf("second daemon: %v, want exit status 75", err)
	}
	if !strings.Contains(string(out), "listens on "+w.paths.Socket) {
		t.Errorf("second daemon says %q", out)
	}
}

// `daemon stop` ends live tasks where nothing supervises the daemon, and keeps
// them where asked to; a kept one is adopted (CONFIG onStop).
func TestStopCancelsOrKeeps(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	kept := w.start(c, "sleep 1000")
	if out, err := w.command("daemon", "stop", "--keep-tasks").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c = w.dial()
	var got rpc.TaskResult
	w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: kept.ID}, &got)
	if got.Task.Status != rpc.StatusRunning {
		t.Fatalf("kept task: %v %v", got.Task.Status, got.Task.Detail)
	}
	if out, err := w.command("daemon", "stop").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c = w.dial()
	w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: kept.ID}, &got)
	if got.Task.Status != rpc.StatusKilled || got.Task.Detail == nil || *got.Task.Detail != "daemon stopped" {
		t.Errorf("task after a stop: %v %v, want killed, daemon stopped", got.Task.Status, got.Task.Detail)
	}
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// An autostarted daemon with nothing to do ends by itself, also when the
// setting comes by a reload; a live task holds it (CONFIG idleExitMs).
func TestIdleExit(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	task := w.start(c, "sleep 1000")
	w.configure("[daemon]\nidleExitMs = 200\n")
	var reloaded rpc.ConfigReloadResult
	w.call(c, rpc.MethodConfigReload, rpc.Empty{}, &reloaded)
	if len(reloaded.Errors) > 0 {
		t.Fatal(reloaded.Errors)
	}
	pid := w.pid()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = w.dial()
	if w.pid() != pid {
		t.Fatal("the daemon ended under a live task")
	}
	w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: task.ID}}, nil)
	w.wait(c, task.ID)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	w.watch(pid)() // blocks for ever where it does not end
}

// SIGHUP reloads, and a SIGTERM right behind it still stops; one that comes while
// the daemon stops makes no restart of it (FIELD "Daemon life").
func TestSignals(t *testing.T) {
	for name, order := range map[string][]syscall.Signal{
		"reload, then stop":      {syscall.SIGHUP, syscall.SIGTERM},
		"stop, and then reloads": {syscall.SIGTERM, syscall.SIGHUP, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.dial()
			pid := w.pid()
			w.configure("[limits]\nmaxConcurrentTasksPerOwner = 7\n")
			for _, signal := range order {
				if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
					t.Fatal(err)
				}
			}
			<-c.Done()
			w.watch(pid)()
			if _, err := os.Stat(w.paths.Socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("what stopped left its socket: %v%s", err, w.log())
			}
		})
	}
}

// A host that keeps its connection has a crashed daemon started again, so that
// an idle agent is told of what ended meanwhile; a daemon that was stopped stays so.
func TestCrashIsRevivedStopIsNot(t *testing.T) {
	w := newWorld(t)
	connected := make(chan struct{}, 8)
	host := client.Keep(client.KeeperOptions{Options: w.options(), Revive: true, OnConnect: func(context.Context, *client.Client) error {
		connected <- struct{}{}
		return nil
	}})
	defer func() { _ = host.Close() }()
	host.Start()
	<-connected
	w.kill()
	<-connected // nobody asked for it
	if out, err := w.command("daemon", "stop").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(w.paths.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a daemon that was stopped left its socket: %v", err)
	}
	w.start(w.dial(), "true") // a person's command starts one
	<-connected               // and the host finds it
}

// A socket whose file or folder is taken away under a living daemon comes back
// (FIELD: cleaners of /tmp, logouts that empty /run/user).
func TestSocketComesBack(t *testing.T) {
	w := newWorld(t)
	w.dial()
	pid := w.pid()
	for what, remove := range map[string]string{"the file": w.paths.Socket, "its folder": filepath.Dir(w.paths.Socket)} {
		// The daemon may be faster than the removal of the whole folder.
		if err := os.RemoveAll(remove); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
			t.Fatal(err)
		}
		if out, err := w.command("run", "true").CombinedOutput(); err != nil {
			t.Fatalf("%s was removed: %v\n%s%s", what, err, out, w.log())
		}
		if w.pid() != pid {
			t.Errorf("%s was removed: another daemon answers", what)
		}
	}
}

// A daemon in whose place another listens cannot be reached any more. It makes
// way, and its task goes on: so the service manager's socket takes over from a
// daemon that a client had started.
func TestSocketIsTakenOver(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	pipe := filepath.Join(w.dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	task := w.start(c, "read line < "+pipe+"; exit 3")
	awaitEnd := w.watch(w.pid())
	other, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(w.dir, "other"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	other.SetUnlinkOnClose(false)
	if err := os.Rename(filepath.Join(w.dir, "other"), w.paths.Socket); err != nil {
		t.Fatal(err)
	}
	awaitEnd()
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	c = w.dial()
	if err := os.WriteFile(pipe, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if ended := detailOf(w.wait(c, task.ID)); ended != "completed, exit code: 3" {
		t.Errorf("the task of before: %s%s", ended, w.log())
	}
}
