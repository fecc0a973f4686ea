package daemon_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"

	"golang.org/x/sys/unix"
)

// serve runs a daemon in the foreground by a program that replaces itself with
// it, and returns its pid when it serves.
func (w *world) serve(by ...string) (pid int) {
	w.t.Helper()
	args := append(by, w.program(), "daemon")
	cmd := exec.CommandContext(w.ctx, args[0], args[1:]...)
	said, err := cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	var all strings.Builder
	for !strings.Contains(all.String(), "serving") {
		line, err := lines.ReadString('\n')
		if all.WriteString(line); err != nil {
			w.t.Fatalf("%v: the daemon did not serve: %v, %s", by, cmd.Wait(), &all)
		}
	}
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		close(drained)
	}()
	w.t.Cleanup(func() {
		if out, err := w.command("daemon", "stop").CombinedOutput(); err != nil {
			w.t.Errorf("daemon stop: %v\n%s", err, out)
		}
		<-drained
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// allows skips a test where the system does not let it make the want it needs.
func allows(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Skipf("%s %v: %v %s", name, args, err, out)
	}
}

// limited sets a limit of the daemon's process until the function that it gives
// is called.
func (w *world) limited(resource int, soft uint64) (restore func()) {
	w.t.Helper()
	var had unix.Rlimit
	if err := unix.Prlimit(w.pid(), resource, nil, &had); err != nil {
		w.t.Fatal(err)
	}
	if err := unix.Prlimit(w.pid(), resource, &unix.Rlimit{Cur: soft, Max: had.Max}, nil); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		if err := unix.Prlimit(w.pid(), resource, &had, nil); err != nil {
			w.t.Fatal(err)
		}
	}
}

// refuses wants starts to fail in words that say what to do, and nothing to be
// left of them. Some keepers may be there already.
func (w *world) refuses(c *client.Client, want string) {
	w.t.Helper()
	var err error
	for range 100 {
		if err = c.Call(w.ctx, rpc.MethodTaskStart, rpc.TaskStart{Command: "true"}, nil); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		w.t.Errorf("a start: %v, want %q in it%s", err, want, w.log())
	}
}

// TestNoDescriptorsLeft: a daemon without a free descriptor refuses starts, goes on
// to answer, and is itself again when there are some, without a restart.
func TestNoDescriptorsLeft(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	before := w.wait(c, w.start(c, "true").ID)
	pid := w.pid()
	gate, open := w.gate()
	waits := w.start(c, "read x < "+gate+"; exit 3")
	leaves := w.start(c, "read x < "+gate+"; sleep 1000 & exit 6")
	awaitEnd := w.watch(parent(t, waits.Operator.PID))
	restore := w.limited(unix.RLIMIT_NOFILE, 1)
	w.refuses(c, "ulimit -n")
	// Somebody comes meanwhile; that cannot be answered before there is room.
	late := make(chan error, 1)
	go func() {
		other, err := client.Dial(w.ctx, client.Options{Socket: w.paths.Socket, Name: "late", Version: "0"})
		if err == nil {
			err = errors.Join(other.Call(w.ctx, rpc.MethodDaemonStatus, rpc.Empty{}, nil), other.Close())
		}
		late <- err
	}()
	w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: before.ID}, nil)
	// What ends meanwhile is told truly, now or when it can be known.
	open(2)
	awaitEnd()
	for records := 0; records < 2; { // the leftover's keeper lives on: only the folder tells of its end
		entries, err := os.ReadDir(w.paths.Exits())
		if err != nil {
			t.Fatal(err)
		}
		records = len(entries)
		w.call(c, rpc.MethodTaskGet, rpc.TaskRef{ID: leaves.ID}, nil)
	}
	restore()
	for id, want := range map[string]string{waits.ID: "completed, exit code: 3", leaves.ID: "completed, exit code: 6"} {
		if ended := w.wait(c, id); detailOf(ended) != want {
			t.Errorf("what ended meanwhile: %s, want %s%s", detailOf(ended), want, w.log())
		}
	}
	if err := <-late; err != nil {
		t.Errorf("who came meanwhile is not served: %v%s", err, w.log())
	}
	w.works(pid)
}

// works wants the daemon to serve as ever, the same one.
func (w *world) works(pid int) {
	w.t.Helper()
	c := w.dial()
	task := w.wait(c, w.start(c, "echo fine; exit 4").ID)
	if text := w.tail(c, task.ID); text != "fine\n" || detailOf(task) != "completed, exit code: 4" {
		w.t.Errorf("afterwards a task ended %s, with %q", detailOf(task), text)
	}
	var status rpc.DaemonStatus
	if w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, &status); status.PID != pid {
		w.t.Errorf("daemon %d serves, it was %d%s", status.PID, pid, w.log())
	}
}

// TestNoProcessesLeft: where there may be no more processes, starts are refused,
// and work again when there may.
func TestNoProcessesLeft(t *testing.T) {
	w := newWorld(t)
	w.configure("[limits]\nmaxConcurrentTasksPerOwner = 100\n")
	c := w.dial()
	// Much at once, so that it has the threads that little will need: the limit is
	// theirs, too, and Go ends a program that can have no more.
	var busy sync.WaitGroup
	for range 32 {
		busy.Go(func() {
			c := w.dial()
			w.wait(c, w.start(c, "true").ID)
		})
	}
	busy.Wait()
	pid := w.pid()
	restore := w.noFork()
	w.refuses(c, "ulimit -u")
	var status rpc.DaemonStatus
	w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, &status)
	restore()
	w.works(pid)
}

// noFork lets the daemon have no more processes until the function that it gives
// is called. The limit of processes does not hold root, so there it is a control
// group's.
func (w *world) noFork() (restore func()) {
	w.t.Helper()
	if os.Getuid() != 0 {
		return w.limited(unix.RLIMIT_NPROC, 1)
	}
	for _, root := range []string{"/sys/fs/cgroup/pids", "/sys/fs/cgroup"} {
		group := filepath.Join(root, filepath.Base(w.dir))
		most := filepath.Join(group, "pids.max")
		err := os.Mkdir(group, 0o755)
		if err == nil {
			w.t.Cleanup(func() { // all in it go back before it can go, and what is just ending is gone
				for err := error(syscall.EBUSY); errors.Is(err, syscall.EBUSY); err = os.Remove(group) {
					procs, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
					for pid := range strings.FieldsSeq(string(procs)) {
						_ = os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(pid), 0)
					}
				}
				if _, err := os.Stat(group); err == nil {
					w.t.Errorf("%s is left", group)
				}
			})
			err = os.WriteFile(most, []byte("1"), 0)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, w.pid()), 0)
		}
		if err == nil {
			return func() {
				w.t.Helper()
				if err := os.WriteFile(most, []byte("max"), 0); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		w.t.Log(err)
	}
	w.t.Skip("the user is root, and no control group can limit processes")
	return nil
}

// TestNoInotify: where no inotify instance is to be had, tasks, followers and
// a new configuration do without, and `status` says so.
func TestNoInotify(t *testing.T) {
	const none = "echo 0 > /proc/sys/user/max_inotify_instances"
	allows(t, "unshare", "--user", "--map-root-user", "sh", "-c", none)
	w := newWorld(t)
	w.works(w.serve("unshare", "--user", "--map-root-user", "sh", "-c", none+` && exec "$@"`, "sh"))
	c := w.dial()
	var status rpc.DaemonStatus
	w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, &status)
	if !strings.Contains(status.Config.Watch, "polling") || len(status.Warnings) == 0 {
		t.Errorf("status says %q, %q", status.Config.Watch, status.Warnings)
	}
	task := w.start(c, "echo one; read x; echo two; sleep 0.1; echo three")
	if got := w.follow(c, task.ID); got != "one\ntwo\nthree\n" {
		t.Errorf("a follower read %q", got)
	}
	w.configure("[limits]\nmaxConcurrentTasksPerOwner = 1\n")
	for { // it looks again and again; it tells of it as of any change
		var got rpc.ConfigGetResult
		w.call(c, rpc.MethodConfigGet, rpc.Empty{}, &got)
		if got.State.Present {
			break
		}
	}
}

// follow reads a task's output as it comes, to the end.
func (w *world) follow(c *client.Client, id string) string {
	w.t.Helper()
	var all strings.Builder
	for next := int64(0); ; {
		var piece rpc.TaskTailResult
		w.call(c, rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: id}, Offset: fmt.Append(nil, next), Follow: true}, &piece)
		all.WriteString(piece.Data)
		if piece.EOF {
			return all.String()
		}
		next = piece.Next
	}
}

// TestDiskIsFull: on a disk that is full, a start fails in clear words, nothing
// that was there is harmed, and the daemon stays; with room again, all goes on.
func TestDiskIsFull(t *testing.T) {
	allows(t, "unshare", "--mount", "mount", "-t", "tmpfs", "-o", "size=1m", "none", "/mnt")
	w := newWorld(t)
	small := filepath.Dir(w.paths.State)
	pid := w.serve("unshare", "--mount", "sh", "-c", `mount -t tmpfs -o size=1m none "$0" && exec "$@"`, small)
	c := w.dial()
	before := w.wait(c, w.start(c, "echo before").ID)
	filler := filepath.Join("/proc", strconv.Itoa(pid), "root", small, "filler")
	fill(t, filler)
	for i := range 3 {
		var started rpc.TaskResult
		err := c.Call(w.ctx, rpc.MethodTaskStart, rpc.TaskStart{Command: "true"}, &started)
		if err == nil || !strings.Contains(err.Error(), "no space left on device") && !strings.Contains(err.Error(), "disk is full") {
			t.Errorf("start %d on a full disk: %+v, %v", i, started.Task, err)
		}
	}
	var list rpc.TaskListResult
	w.call(c, rpc.MethodTaskList, rpc.TaskList{All: true}, &list)
	if len(list.Tasks) != 1 || list.Tasks[0].ID != before.ID {
		t.Errorf("the tasks are %+v, want the one that was there", list.Tasks)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	w.works(pid)
	if got := w.tail(c, before.ID); got != "before\n" {
		t.Errorf("of before: %q", got)
	}
}

// fill writes a file until the disk takes no more.
func fill(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, size := range []int{4096, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}
