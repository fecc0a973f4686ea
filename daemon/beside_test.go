package daemon_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// A daemon that a command inside a task starts, since the last one crashed, is no
// descendant of its starter (CLI.md): the keeper of that task, the reaper of all
// that comes from it, neither shows it as a leftover nor ends it with the task.
func TestDaemonStartedInsideATask(t *testing.T) {
	for name, end := range map[string]func(w *world, c *client.Client, id, gate string){
		"the task ends": func(w *world, _ *client.Client, _, gate string) { w.write(gate, "end\n") },
		"the task is killed": func(w *world, c *client.Client, id, _ string) {
			w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: id}}, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.dial()
			gate, told := w.fifo("gate"), w.fifo("told")
			task := w.startHere(c, "echo $PPID > told; read x < gate; "+w.program()+" ls > told 2>&1; read x < gate; exit 7")
			keeper, err := strconv.Atoi(strings.TrimSpace(w.read(told)))
			if err != nil {
				t.Fatal(err)
			}
			awaitKeeper := w.watch(keeper)
			old := w.pid()
			w.kill()

			w.write(gate, "start\n")
			if list := w.read(told); !strings.Contains(list, task.ID) || !strings.Contains(list, "running") {
				t.Fatalf("ls inside the task, without a daemon: %q", list)
			}
			pid := w.pid()
			if pid == old || slices.Contains(ancestors(t, pid), keeper) {
				t.Fatalf("the new daemon is %d below %v; the old one was %d, the task's keeper is %d", pid, ancestors(t, pid), old, keeper)
			}

			c = w.dial()
			next := w.startHere(c, "echo $PPID > told; sleep 1000")
			nextKeeper, err := strconv.Atoi(strings.TrimSpace(w.read(told)))
			if err != nil {
				t.Fatal(err)
			}
			if above := ancestors(t, nextKeeper); above[0] != pid || slices.Contains(above, keeper) {
				t.Errorf("the next task's keeper is below %v, want the daemon %d and not the keeper %d", above, pid, keeper)
			}

			end(w, c, task.ID, gate)
			ended := w.wait(c, task.ID)
			if !ended.Status.Terminal() || ended.Operator.Leftovers != 0 {
				t.Errorf("%s: %s with %d leftovers", ended.ID, ended.Status, ended.Operator.Leftovers)
			}
			awaitKeeper() // and with it all that is in its tree
			var status rpc.DaemonStatus
			w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, &status)
			if status.PID != pid {
				t.Errorf("the daemon is %d, was %d", status.PID, pid)
			}
			var got rpc.TaskResult
			w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: next.ID}, &got)
			if got.Task.Status != rpc.StatusRunning {
				t.Errorf("%s is %s, want it to go on", next.ID, got.Task.Status)
			}
		})
	}
}

// startHere starts a command in the world's folder with the world's environment,
// as the command line does.
func (w *world) startHere(c *client.Client, command string) rpc.Task {
	w.t.Helper()
	env := make(map[string]string)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	var started rpc.TaskResult
	w.call(c, rpc.MethodTaskStart, rpc.TaskStart{Command: command, Cwd: w.dir, Env: env}, &started)
	return started.Task
}

func (w *world) fifo(name string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// write says something to who reads the fifo, as soon as somebody does.
func (w *world) write(fifo, text string) {
	w.t.Helper()
	if err := os.WriteFile(fifo, []byte(text), 0); err != nil {
		w.t.Fatal(err)
	}
}

// read is all that the next writer of the fifo says.
func (w *world) read(fifo string) string {
	w.t.Helper()
	text, err := os.ReadFile(fifo)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// ancestors of a process, its parent first.
func ancestors(t *testing.T, pid int) (list []int) {
	t.Helper()
	for pid > 1 {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\nPPid:")
		line, _, _ := strings.Cut(rest, "\n")
		if pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
		list = append(list, pid)
	}
	return list
}
