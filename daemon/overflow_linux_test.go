package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sidetask/process/wire"
	"sidetask/rpc"
	"sidetask/spool"
)

// TestOverflow: a daemon that was stopped for so long that the kernel dropped what it
// was to be told of its folders misses nothing: no end (of a command whose keeper
// lives on, and so does not tell of it), no output to who follows, none to who waits
// for a text (FIELD "Config reload"; the file of the configuration: config.TestOverflow).
func TestOverflow(t *testing.T) {
	most := queued(t)
	w := newWorld(t)
	c := w.dial()
	gate, open := w.gate()
	flooded := w.start(c, "sleep 1000")
	followed := w.start(c, "read x < "+gate+"; echo one; sleep 1000")
	awaited := w.start(c, "read x < "+gate+"; echo two; sleep 1000")
	leaves := w.start(c, "read x < "+gate+"; sleep 1000 & exit 6")
	out := func(row int) string { return filepath.Join(w.paths.Tasks(), strconv.Itoa(row), wire.OutDir) }

	answers := make(chan string)
	ask := func(method string, params any, said func() string, result any) {
		go func() {
			if err := c.Call(w.ctx, method, params, result); err != nil {
				answers <- fmt.Sprint(method, ": ", err)
				return
			}
			answers <- said()
		}()
	}
	long := []byte("1000000")
	var nothing, piece rpc.TaskTailResult
	var text rpc.TaskOutputResult
	var end rpc.TaskResult
	ask(rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: flooded.ID}, Follow: true}, func() string { return "nothing" }, &nothing)
	ask(rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: followed.ID}, Follow: true}, func() string { return piece.Data }, &piece)
	ask(rpc.MethodTaskOutput, rpc.TaskOutput{TaskRef: rpc.TaskRef{ID: awaited.ID}, Wait: true, TimeoutMs: long, Until: "two"}, func() string { return text.Text }, &text)
	ask(rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{ID: leaves.ID}, TimeoutMs: long}, func() string { return detailOf(end.Task) }, &end)
	pid := w.pid()
	for !watches(t, pid, w.paths.Exits(), out(1), out(2), out(3)) {
		w.call(c, rpc.MethodDaemonStatus, rpc.Empty{}, nil) // nothing tells that a call waits
	}

	// What must have happened before the daemon goes on is told by a watcher of our own.
	watcher := spool.NewWatcher()
	defer watcher.Close()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	flood(t, out(1), most)
	open(3)
	for dir, there := range map[string]func(dir string) bool{
		out(2): grown, out(3): grown,
		w.paths.Exits(): func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, "4"))
			return err == nil
		},
	} {
		watch := watcher.Watch(dir)
		for !there(dir) {
			if err := watch.Wait(w.ctx); err != nil {
				t.Fatal(err)
			}
		}
		watch.Close()
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"one\n": true, "two\n": true, "completed, exit code: 6": true}
	for range 3 {
		if got := <-answers; !want[got] {
			t.Errorf("answered %q", got)
		} else {
			delete(want, got)
		}
	}
	w.call(c, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: flooded.ID}}, nil)
	if got := <-answers; got != "nothing" {
		t.Errorf("who follows a task without output hears %s", got)
	}
}

func grown(dir string) bool {
	size, err := spool.Size(dir)
	return err == nil && size > 0
}

// queued is how many events of an instance the kernel keeps.
func queued(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || most > 1<<18 {
		t.Skipf("fs.inotify.max_queued_events is %s, %v", text, err)
	}
	return most
}

// flood makes more events in a folder than are kept. Two that are alike are one, so
// two files take turns.
func flood(t *testing.T, dir string, most int) {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		file, err := os.Create(filepath.Join(dir, "flood"+strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		files[i] = file
	}
	for i := range most + most/4 {
		if _, err := files[i%2].WriteAt([]byte{1}, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// watches reports whether a process has an inotify watch on each of the folders.
func watches(t *testing.T, pid int, dirs ...string) bool {
	t.Helper()
	infos, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, info := range infos {
		text, _ := os.ReadFile(info) // a descriptor may be closed meanwhile
		all.Write(text)
	}
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(all.String(), fmt.Sprintf(" ino:%x ", info.Sys().(*syscall.Stat_t).Ino)) {
			return false
		}
	}
	return true
}
