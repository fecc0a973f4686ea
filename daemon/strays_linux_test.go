package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// processes are all of this world: the programs, and what commands have started.
// Zombies are none.
func (w *world) processes() (pids []int) {
	w.t.Helper()
	mark := []byte("SIDETASK_SOCKET=" + w.paths.Socket + "\x00")
	entries, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// Of a process that is gone meanwhile these are empty.
		program, _ := os.Readlink(filepath.Join("/proc", entry.Name(), "exe"))
		environ, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if filepath.Dir(program) == binaries || bytes.Contains(environ, mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// nothingStays waits until no process of this world is left.
func (w *world) nothingStays() {
	w.t.Helper()
	// Again until a look finds none: what was just being forked is in no list before.
	for pids := w.processes(); len(pids) > 0; pids = w.processes() {
		for _, pid := range pids {
			cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			w.t.Logf("process %d is left: %q", pid, cmdline)
			w.watch(pid)() // blocks for ever where it does not end
		}
	}
}

// stubborn are commands that leave something behind, each in another way.
var stubborn = []string{
	"echo ready; sleep 1000",
	"sleep 1000 & setsid sleep 1000 & echo ready",
	"(setsid bash -c 'trap \"\" HUP TERM; sleep 1000 & sleep 1000' &); echo ready; wait; sleep 1000",
	"nohup sleep 1000 > /dev/null 2>&1 < /dev/null & echo ready; exec sleep 1000",
	"bash -c 'bash -c \"sleep 1000; :\"; :' & echo ready; wait",
}

// TestNothingStays: however often the daemon crashes and whatever its tasks have
// started, a stop leaves no process behind: no quiet stray that outlives its
// session, no keeper, no daemon (FIELD "Kill, orphans, zombies").
func TestNothingStays(t *testing.T) {
	w := newWorld(t)
	w.configure("[commands]\nstopGraceMs = 100\n[limits]\nmaxConcurrentTasksPerOwner = 100\n")
	for range 3 {
		c := w.dial()
		for _, command := range stubborn {
			w.printed(c, w.start(c, command).ID, "ready\n")
		}
		w.kill()
	}
	if n := len(w.processes()); n < 3*len(stubborn) {
		t.Fatalf("%d processes of this world are found", n)
	}
	w.dial()
	if out, err := w.command("daemon", "stop").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.nothingStays()
}

// printed waits until a task has printed a text.
func (w *world) printed(c *client.Client, id, text string) {
	w.t.Helper()
	var all strings.Builder
	for next := int64(0); !strings.Contains(all.String(), text); {
		var piece rpc.TaskTailResult
		w.call(c, rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: id}, Offset: fmt.Append(nil, next), Follow: true}, &piece)
		if piece.EOF {
			w.t.Fatalf("%s printed %q, want %q", id, &all, text)
		}
		all.WriteString(piece.Data)
		next = piece.Next
	}
}

// TestKilledAtOnce: a kill right behind the start finds the whole tree, whether
// the command has just been forked, is in execve, or calls setsid.
func TestKilledAtOnce(t *testing.T) {
	w := newWorld(t)
	w.configure("[commands]\nstopGraceMs = 0\n")
	c := w.dial()
	for range 30 {
		task := w.start(c, "setsid sleep 1000 & sleep 1000 & exec setsid -w sleep 1000")
		w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: task.ID}}, nil)
		if ended := w.wait(c, task.ID); ended.Status != rpc.StatusKilled {
			t.Errorf("ended %s", detailOf(ended))
		}
	}
	if out, err := w.command("daemon", "stop", "--keep-tasks").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	w.nothingStays() // though the stop itself has ended nothing
}

// TestBusyLeftovers: 38 busy loops that a command left behind do not hold up its
// end, are told, and a kill ends them all.
func TestBusyLeftovers(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	const loops = 38
	task := w.wait(c, w.start(c, fmt.Sprintf("for i in {1..%d}; do (while :; do :; done) & done", loops)).ID)
	if detailOf(task) != "completed, exit code: 0" || task.Operator.Leftovers != loops {
		t.Errorf("ended %s with %d leftovers, want %d", detailOf(task), task.Operator.Leftovers, loops)
	}
	w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: task.ID}}, nil)
	for left := loops; left > 0; { // each call is a look; nothing tells a client that waits
		var got rpc.TaskResult
		w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: task.ID}, &got)
		left = got.Task.Operator.Leftovers
	}
}

// TestSessionEnds: with its session everything of an owner ends, also what its
// finished tasks left running; another's goes on.
func TestSessionEnds(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	const other = "ffeeddccbbaa99887766554433221100"
	for session, token := range map[string]string{"one": token, "two": other} {
		w.call(c, rpc.MethodOwnerRegister, rpc.OwnerRegister{Token: token, Agent: "test", Session: session, Cwd: "/", Env: map[string]string{"PATH": os.Getenv("PATH")}}, nil)
	}
	start := func(token, command string) rpc.Task {
		var started rpc.TaskResult
		w.call(c, rpc.MethodTaskStart, rpc.TaskStart{As: rpc.As{Token: token}, Command: command}, &started)
		return started.Task
	}
	pids := filepath.Join(w.dir, "pids")
	ended := start(token, "setsid sleep 1000 & echo $! >> "+pids)
	w.call(c, rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{As: rpc.As{Token: token}, ID: ended.ID}, TimeoutMs: []byte("100000")}, nil)
	live := start(token, "(setsid sleep 1000 & echo $! >> "+pids+"); echo $$ >> "+pids+"; echo ready; exec sleep 1000")
	w.printed(c, live.ID, "ready\n")
	stays := start(other, "echo ready; exec sleep 1000")
	w.printed(c, stays.ID, "ready\n")

	w.call(c, rpc.MethodOwnerDispose, rpc.OwnerDispose{As: rpc.As{Token: token}}, nil)
	text, err := os.ReadFile(pids)
	if err != nil || len(strings.Fields(string(text))) != 3 {
		t.Fatalf("pids %q, %v", text, err)
	}
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		w.watch(pid)()
	}
	var got rpc.TaskResult
	w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: stays.ID}, &got)
	if got.Task.Status != rpc.StatusRunning {
		t.Errorf("the other session's task is %s", detailOf(got.Task))
	}
}

// gate is a file at which commands wait (read x < gate), and what lets so many of
// them through, those that have not come yet, too.
func (w *world) gate() (path string, open func(n int)) {
	w.t.Helper()
	path = filepath.Join(w.dir, "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		w.t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = file.Close() })
	return path, func(n int) {
		w.t.Helper()
		if _, err := file.WriteString(strings.Repeat("\n", n)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestNoZombies: the daemon buries its keepers, also those that it was the parent
// of before it replaced itself, and has no thread of its own for a task.
func TestNoZombies(t *testing.T) {
	w := newWorld(t)
	w.configure("[limits]\nmaxConcurrentTasksPerOwner = 1000\n")
	c := w.dial()
	w.wait(c, w.start(c, "true").ID)
	threads := kib(t, w.pid(), "status", "Threads")
	gate, open := w.gate()
	const many = 100
	ids := make([]string, many)
	for i := range ids {
		ids[i] = w.start(c, "read x < "+gate).ID
	}
	if now := kib(t, w.pid(), "status", "Threads"); now-threads > many/4 {
		t.Errorf("%v threads with %d tasks, %v with none", now, many, threads)
	}
	w.call(c, rpc.MethodDaemonRestart, rpc.DaemonRestart{}, nil)
	<-c.Done()
	c = w.dial()
	open(many)
	for _, id := range ids {
		w.wait(c, id)
	}
	for zombies := []int{0}; len(zombies) > 0; { // each call gives the daemon its turn
		zombies = nil
		w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, nil)
		for _, pid := range children(w.pid()) {
			if status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); bytes.Contains(status, []byte("\nState:\tZ")) {
				zombies = append(zombies, pid)
			}
		}
	}
}

// TestDaemonIsNobodys: a daemon that a client started has nothing of that client:
// not its folder, which may be deleted, nor what its environment says of a session.
func TestDaemonIsNobodys(t *testing.T) {
	w := newWorld(t)
	t.Setenv("CLAUDECODE", "1")
	t.Setenv("SOME_TOKEN", "secret")
	worktree := filepath.Join(w.dir, "worktree")
	if err := os.Mkdir(worktree, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(worktree)
	c := w.dial()
	if err := os.Remove(worktree); err != nil {
		t.Fatal(err)
	}
	of := func(file string) string { return fmt.Sprintf("/proc/%d/%s", w.pid(), file) }
	if dir, err := os.Readlink(of("cwd")); dir != "/" || err != nil {
		t.Errorf("the daemon is in %s, %v", dir, err)
	}
	environ, err := os.ReadFile(of("environ"))
	if err != nil || bytes.Contains(environ, []byte("CLAUDECODE")) || bytes.Contains(environ, []byte("SOME_TOKEN")) {
		t.Errorf("the daemon's environment is %q, %v", environ, err)
	}
	// A start that names no folder that is there is refused in words that do, by
	// each of many; the daemon and others' starts have nothing to do with it.
	for range 3 {
		err := c.Call(w.ctx, rpc.MethodTaskStart, rpc.TaskStart{Command: "true", Cwd: worktree}, nil)
		if err == nil || !strings.Contains(err.Error(), "working directory "+worktree+" does not exist") {
			t.Errorf("a start in a folder that is gone: %v", err)
		}
	}
	task := w.wait(c, w.start(c, "pwd; echo ${CLAUDECODE-none} ${SOME_TOKEN-none}").ID)
	if text := w.tail(c, task.ID); !strings.HasSuffix(text, "\nnone none\n") {
		t.Errorf("a task that was given no environment printed %q", text)
	}
}
