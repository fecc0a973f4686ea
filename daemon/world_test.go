package daemon_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidetask/paths"
	"sidetask/rpc"
	"sidetask/rpc/client"
)

// limit ends what a test that hangs left behind. The time-out of go test ends the test.
const limit = 3 * time.Hour

// binaries is where TestMain has put the programs.
var binaries string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "st-bin")
	if err != nil {
		panic(err)
	}
	build := exec.Command("go", "install", "sidetask/cmd/...", "sidetask/examples/...")
	build.Env = append(os.Environ(), "GOBIN="+dir)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go install: %v\n%s", err, out)
		os.Exit(1)
	}
	binaries = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// world is one user's folders, empty at first, with a daemon in them that any
// client starts.
type world struct {
	t     testing.TB
	ctx   context.Context
	dir   string
	bin   string // where the programs are; "" = as everywhere
	paths paths.Paths
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "st") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	w := &world{t: t, ctx: ctx, dir: dir}
	for variable, name := range map[string]string{"XDG_RUNTIME_DIR": "r", "XDG_STATE_HOME": "s", "XDG_CONFIG_HOME": "c"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, filepath.Join(dir, name))
	}
	t.Setenv("SIDETASK_SOCKET", "")
	t.Setenv("SIDETASK_CONFIG", "")
	if w.paths, err = paths.Find(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := w.command("daemon", "stop").CombinedOutput(); err != nil {
			t.Errorf("daemon stop: %v\n%s", err, out)
		}
		cancel()
		err := os.RemoveAll(dir)
		for errors.Is(err, syscall.ENOTEMPTY) { // a keeper still tidies up
			err = os.RemoveAll(dir)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return w
}

// configure writes the file, before the first client.
func (w *world) configure(toml string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.paths.Config), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.paths.Config, []byte(toml), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) program() string { return filepath.Join(cmp.Or(w.bin, binaries), "sidetask") }

func (w *world) command(args ...string) *exec.Cmd {
	return exec.CommandContext(w.ctx, w.program(), args...)
}

func (w *world) options() client.Options {
	return client.Options{
		Socket: w.paths.Socket, Name: "test", Version: "0",
		Autostart: &client.Autostart{Executable: w.program(), Args: []string{"daemon", "--detach"}},
	}
}

// dial connects, starting a daemon where there is none.
func (w *world) dial() *client.Client {
	w.t.Helper()
	c, err := client.Dial(w.ctx, w.options())
	if err != nil {
		w.t.Fatalf("dial: %v%s", err, w.log())
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (w *world) log() string {
	text, _ := os.ReadFile(filepath.Join(w.paths.State, "daemon.log"))
	return "\n" + string(text)
}

// pid of the running daemon, from its lock.
func (w *world) pid() int {
	w.t.Helper()
	text, err := os.ReadFile(w.paths.Lock())
	if err != nil {
		w.t.Fatal(err)
	}
	number, _, _ := strings.Cut(string(text), " ")
	pid, err := strconv.Atoi(number)
	if err != nil {
		w.t.Fatalf("the lock file says %q", text)
	}
	return pid
}

// kill ends the daemon without a chance to do anything more, and returns when
// it is gone.
func (w *world) kill() {
	w.t.Helper()
	pid := w.pid()
	awaitEnd := w.watch(pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		w.t.Fatal(err)
	}
	awaitEnd()
}

func (w *world) call(c *client.Client, method string, params, result any) {
	w.t.Helper()
	if err := c.Call(w.ctx, method, params, result); err != nil {
		w.t.Fatalf("%s: %v%s", method, err, w.log())
	}
}

func (w *world) start(c *client.Client, command string) rpc.Task {
	w.t.Helper()
	var started rpc.TaskResult
	w.call(c, rpc.MethodTaskStart, rpc.TaskStart{Command: command}, &started)
	return started.Task
}

func (w *world) wait(c *client.Client, id string) rpc.Task {
	w.t.Helper()
	var ended rpc.TaskResult
	w.call(c, rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{ID: id}, TimeoutMs: []byte("100000")}, &ended)
	return ended.Task
}

func (w *world) tail(c *client.Client, id string) string {
	w.t.Helper()
	var all strings.Builder
	for next := int64(0); ; {
		var piece rpc.TaskTailResult
		offset := []byte(strconv.FormatInt(next, 10))
		w.call(c, rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: id}, Offset: offset}, &piece)
		all.WriteString(piece.Data)
		if piece.EOF || piece.Next == next {
			return all.String()
		}
		next = piece.Next
	}
}

func (w *world) touch(path string) {
	w.t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// detailOf is how a task ended, in one text.
func detailOf(task rpc.Task) string {
	if task.Detail == nil {
		return string(task.Status)
	}
	return string(task.Status) + ", " + *task.Detail
}
