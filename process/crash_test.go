package process

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sidetask/registry"
)

// crashDir names the state of a daemon that this test binary plays.
const crashDir = "SIDETASK_TEST_CRASH"

// crashBefore makes that daemon die before a job is handed over.
const crashBefore = "SIDETASK_TEST_CRASH_BEFORE"

// crashingDaemon recovers, then starts short commands as fast as it can, reads
// some, and says what it was told; until it is killed.
func crashingDaemon(dir string) {
	w := worldIn(nil, dir)
	w.keeper = os.Getenv("SIDETASK_TEST_KEEPER")
	fail := func(err error) {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	if err := w.open(); err != nil {
		fail(err)
	}
	if os.Getenv(crashBefore) != "" {
		fail(w.dieBeforeHandover())
	}
	fmt.Println("ready")
	ran := filepath.Join(dir, "ran")
	for i := 0; ; i++ {
		key := fmt.Sprintf("%d.%d", os.Getpid(), i)
		task, err := w.p.Start(context.Background(), registry.AsOperator(), Spec{
			Command: fmt.Sprintf("echo %s >> %s; echo begin; sleep 0.0%d; echo end; exit %d", key, ran, i%10, i%7),
			Label:   key, Key: key, Cwd: "/", Env: map[string]string{"PATH": os.Getenv("PATH")},
		})
		if err != nil {
			fail(err)
		}
		fmt.Println(task.ID, key)
		if i%3 == 2 {
			if _, _, err := w.registry.Kill(context.Background(), registry.AsOperator(), task.ID, nil); err != nil {
				fail(err)
			}
		}
	}
}

// crashes is how often the ordinary test kills the daemon.
const crashes = 25

// TestCrashes: `kill -9` of the daemon at any instant, with tasks starting,
// writing, ending and being killed, loses and invents nothing: each task that was
// told of is there with its true end and all of its output, each command ran
// once and has a task.
func TestCrashes(t *testing.T) {
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	told := make(map[string]string) // label by id
	for range crashes {
		for id, key := range crashOnce(t, dir) {
			if told[id] != "" {
				t.Errorf("id %s was given twice: to %s and %s", id, told[id], key)
			}
			told[id] = key
		}
	}
	w := worldIn(t, dir)
	w.begin()
	defer w.end()
	defer w.killAll()
	byKey := make(map[string]registry.Task)
	for _, task := range w.registry.List(registry.AsOperator(), true) {
		task = w.wait(task)
		if _, twice := byKey[task.Label]; twice {
			t.Errorf("two tasks for %s", task.Label)
		}
		byKey[task.Label] = task
		w.checkCrashed(task)
	}
	for id, key := range told {
		if byKey[key].ID != id {
			t.Errorf("%s was told to be %s, it is %q now", key, id, byKey[key].ID)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "ran"))
	if err != nil {
		t.Fatal(err)
	}
	keys := strings.Fields(string(text))
	slices.Sort(keys)
	for i, key := range keys {
		if i > 0 && key == keys[i-1] {
			t.Errorf("command %s ran twice", key)
		}
		if _, ok := byKey[key]; !ok {
			t.Errorf("command %s ran and has no task", key)
		}
	}
	t.Logf("%d crashes, %d tasks, %d of them told of", crashes, len(byKey), len(told))
}

// dieBeforeHandover begins a start as far as the locked file, forks a process that
// has that file open (as every process has between fork and exec), and waits for
// its end.
func (w *world) dieBeforeHandover() error {
	_, err := w.registry.Start(context.Background(), registry.AsOperator(), registry.Spec{Kind: "bash", Label: "never", Stream: true, Producer: Name}, func(row registry.Row) error {
		if err := os.Mkdir(w.p.dir(row), 0o700); err != nil {
			return err
		}
		lock, err := lockNew(w.p.lockFile(row))
		if err != nil {
			return err
		}
		forked := exec.Command("sleep", "0.3")
		forked.ExtraFiles = []*os.File{lock}
		if err := forked.Start(); err != nil {
			return err
		}
		fmt.Println("ready")
		return forked.Wait()
	})
	return err
}

// TestDeathBeforeHandover: a start that was cut off before its keeper had the job
// never was, though a process that was being forked holds its lock a little longer.
func TestDeathBeforeHandover(t *testing.T) {
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	daemon := exec.Command(os.Args[0])
	daemon.Env = append(os.Environ(), crashDir+"="+dir, crashBefore+"=1")
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("the daemon said %q, %v", line, err)
	}
	_ = daemon.Process.Kill()
	_, _ = daemon.Process.Wait()
	w := worldIn(t, dir)
	w.begin()
	defer w.end()
	w.nothingLeft()
}

// crashOnce runs a daemon for a moment and kills it; it gives the tasks that the
// daemon told of.
func crashOnce(t *testing.T, dir string) map[string]string {
	t.Helper()
	daemon := exec.Command(os.Args[0])
	daemon.Env = append(os.Environ(), crashDir+"="+dir, "SIDETASK_TEST_KEEPER="+keeperBinary)
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	told := make(map[string]string)
	lines := bufio.NewScanner(out)
	var kill *time.Timer
	for lines.Scan() {
		switch id, key, _ := strings.Cut(lines.Text(), " "); {
		case id == "ready":
			kill = time.AfterFunc(time.Duration(rand.IntN(150))*time.Millisecond, func() { _ = daemon.Process.Kill() })
		case id == "error:":
			t.Errorf("daemon: %s", lines.Text())
		default:
			told[id] = key
		}
	}
	if kill == nil {
		t.Error("the daemon never was ready")
	}
	_ = daemon.Wait()
	return told
}

// checkCrashed checks one task's end and output.
func (w *world) checkCrashed(task registry.Task) {
	w.Helper()
	var pid, i int
	if _, err := fmt.Sscanf(task.Label, "%d.%d", &pid, &i); err != nil {
		w.Errorf("a task %q that nobody started", task.Label)
		return
	}
	if i%3 == 2 && task.Status == registry.Killed {
		return // asked to stop; if the daemon died before it could ask, it ends as below
	}
	w.is(task, registry.Completed, fmt.Sprintf("exit code: %d", i%7))
	if text := w.read(task); text != "begin\nend\n" {
		w.Errorf("%s printed %q", task.ID, text)
	}
}
