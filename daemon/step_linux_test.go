package daemon_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidetask/rpc"
)

// stepped builds the programs with a package time of which the wall clock can be set:
// by as many seconds as a file says. All else is as it is, and the machine's clock stays.
func stepped(t *testing.T) (bin string, set func(time.Duration)) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	original := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(original)
	if err != nil {
		t.Fatal(err)
	}
	const clock = "	sec, nsec, mono := runtimeNow()\n"
	const after = "func Now() Time {\n" + clock
	if strings.Count(string(text), after) != 1 {
		t.Fatalf("%s is not as it was: mend this test", original)
	}
	changed := strings.Replace(string(text), after, after+"	sec += stepSeconds()\n", 1)
	changed = strings.Replace(changed, "_ \"unsafe\"", "\"unsafe\"", 1)
	changed = strings.Replace(changed, "import (\n", "import (\n\t\"syscall\"\n", 1) + `
var stepFile string // set by the linker

// step is that file in memory: the clock is read where no call may be made.
var step = func() *int64 {
	fd, err := syscall.Open(stepFile, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return new(int64)
	}
	defer syscall.Close(fd)
	at, _, errno := syscall.Syscall6(syscall.SYS_MMAP, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED, uintptr(fd), 0)
	if errno != 0 {
		return new(int64)
	}
	return *(**int64)(unsafe.Pointer(&at))
}()

func stepSeconds() int64 {
	if step == nil { // not yet
		return 0
	}
	return *step
}
`
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: write("time.go", changed)}})
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", write("overlay.json", string(overlay)), "-ldflags", "-X time.stepFile="+filepath.Join(dir, "step"),
		"-o", dir+"/", "sidetask/cmd/sidetask", "sidetask/cmd/sidetask-keeper")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.OpenFile(write("step", strings.Repeat("\x00", 8)), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return dir, func(step time.Duration) {
		t.Helper()
		if _, err := file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(step.Seconds()))), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClockSteps: the wall clock is set while tasks run and clients wait, of the
// daemon, its keepers and its clients. No time-out, time limit or grace becomes
// shorter or longer, nothing lasts a month, nothing old enough to be deleted has become
// so by that, and what came first stays first (FIELD "Environment, cwd, locale, clock").
func TestClockSteps(t *testing.T) {
	if os.Getenv("SIDETASK_CLOCK_STEPS") == "" {
		t.Skip("builds everything anew: set SIDETASK_CLOCK_STEPS=1 (scripts/soak does)")
	}
	bin, set := stepped(t)
	const month = 30 * 24 * time.Hour
	for name, step := range map[string]time.Duration{"back": -month, "forward": month} {
		t.Run(name, func(t *testing.T) { clockSteps(t, bin, func() { set(step) }, func() { set(0) }) })
	}
}

func clockSteps(t *testing.T, bin string, step, back func()) {
	const second = 1000 // ms of each time that is looked at
	w := newWorld(t)
	w.bin = bin
	defer back()
	w.configure(fmt.Sprintf("[commands]\nstopGraceMs = %d\n[retention]\ndays = 1\n", second))
	c := w.dial()
	host := w.dial()
	w.call(host, rpc.MethodOwnerRegister, rpc.OwnerRegister{Token: strings.Repeat("ab", 16), Agent: "a", Session: "s"}, nil)
	var kept rpc.TaskResult
	w.call(host, rpc.MethodTaskStart, rpc.TaskStart{As: rpc.As{Token: strings.Repeat("ab", 16)}, Command: "sleep 1000"}, &kept)
	ended := w.wait(c, w.start(c, "exit 3").ID)
	live := w.start(c, "sleep 1000")
	var outside rpc.TaskRegistered
	w.call(c, rpc.MethodTaskRegister, rpc.TaskRegister{Kind: "job", Label: "outside"}, &outside)
	stubborn := w.start(c, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	w.printed(c, stubborn.ID, "ready")

	// Each of these takes its second, and the clock is set in the middle.
	type timed struct {
		what string
		took time.Duration
		err  error
	}
	done := make(chan timed)
	begin := func(what string, f func() error) {
		began := time.Now()
		go func() {
			err := f()
			done <- timed{what, time.Since(began), err}
		}()
	}
	var limited rpc.TaskResult
	w.call(c, rpc.MethodTaskStart, rpc.TaskStart{Command: "sleep 1000", TimeoutMs: fmt.Append(nil, second)}, &limited)
	begin("a time limit", func() error {
		if got := detailOf(w.wait(c, limited.Task.ID)); got != fmt.Sprintf("killed, timed out after %d ms", second) {
			return fmt.Errorf("it ended %s", got)
		}
		return nil
	})
	begin("a wait", func() error {
		var still rpc.TaskResult
		err := c.Call(w.ctx, rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{ID: live.ID}, TimeoutMs: fmt.Append(nil, second)}, &still)
		if err == nil && still.Task.Status != rpc.StatusRunning {
			err = fmt.Errorf("the task is %s", still.Task.Status)
		}
		return err
	})
	begin("a wait of the command line", func() error {
		out, err := w.command("wait", "--timeout", "1s", live.ID).CombinedOutput()
		if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 124 {
			return fmt.Errorf("%v %s", err, out)
		}
		return nil
	})
	w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: stubborn.ID}}, nil)
	begin("a grace", func() error {
		if got := detailOf(w.wait(c, stubborn.ID)); got != "killed, killed by the user" {
			return fmt.Errorf("it ended %s", got)
		}
		return nil
	})
	step()
	for range 4 {
		// Nothing is on time here to the millisecond; all began before they were timed.
		if d := <-done; d.err != nil || d.took < second*time.Millisecond*9/10 || d.took > time.Hour {
			t.Errorf("%s took %v, %v", d.what, d.took, d.err)
		}
	}

	_ = host.Close() // its owner's grace, 8 hours, begins
	w.call(c, rpc.MethodTaskSettle, rpc.TaskSettle{ID: outside.Task.ID, Status: rpc.StatusCompleted}, nil)
	later := w.start(c, "exit 4")
	w.configure("[retention]\ndays = 2\n")
	w.call(c, rpc.MethodConfigReload, rpc.Empty{}, nil)
	back()
	w.wait(c, later.ID)
	step()
	w.configure("[retention]\ndays = 1\n")
	w.call(c, rpc.MethodConfigReload, rpc.Empty{}, nil) // both look for what is too old
	want := []string{kept.Task.ID, ended.ID, live.ID, outside.Task.ID, stubborn.ID, limited.Task.ID, later.ID}
	w.listed(want)
	w.kill() // the next daemon has nothing but what the wall clock says
	w.dial()
	w.listed(want[:1])
}

// listed wants these tasks in this order, none of which has lasted an hour once it
// has ended.
func (w *world) listed(want []string) {
	w.t.Helper()
	text, err := w.command("ls", "-a", "--json").Output()
	if err != nil {
		w.t.Fatal(err, stderrOf(err))
	}
	var list struct {
		Tasks []struct {
			ID, Status string
			FinishedAt string
			DurationMs int64
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		w.t.Fatal(err)
	}
	var ids []string
	for _, task := range list.Tasks {
		ids = append(ids, task.ID)
		if task.FinishedAt != "" && (task.DurationMs < 0 || task.DurationMs > time.Hour.Milliseconds()) {
			w.t.Errorf("%s (%s) lasted %d ms", task.ID, task.Status, task.DurationMs)
		}
	}
	if fmt.Sprint(ids[:min(len(ids), len(want))]) != fmt.Sprint(want) {
		w.t.Errorf("tasks %v, want %v%s", ids, want, w.log())
	}
}
