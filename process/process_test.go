package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sidetask/process/wire"
	"sidetask/registry"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// TestEnd pins T191: how a command ended, and what it said, in true order (T193).
func TestEnd(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		command string
		status  registry.Status
		detail  string
		text    string
	}{
		{"echo hi", registry.Completed, "exit code: 0", "hi\n"},
		{"echo out; echo err >&2; echo out2; exit 3", registry.Completed, "exit code: 3", "out\nerr\nout2\n"},
		{"kill -KILL $$", registry.Killed, "signal: SIGKILL", ""},
		{"exit 137", registry.Completed, "exit code: 137", ""},
		{"ulimit -c 0; kill -SEGV $$", registry.Killed, "signal: SIGSEGV", ""},
		{"kill -35 $$", registry.Killed, "signal: SIG35", ""},
		{"no-such-program-anywhere 2>/dev/null", registry.Completed, "exit code: 127", ""},
	} {
		task := w.wait(w.start(c.command))
		w.is(task, c.status, c.detail)
		if text := w.read(task); text != c.text {
			t.Errorf("%q printed %q, want %q", c.command, text, c.text)
		}
	}
}

// TestLeftovers: a task ends with its own process, whoever still holds its
// output; what it left running is shown, reachable by kill, and its later output
// is kept.
func TestLeftovers(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{
		"setsid sleep 1000 & echo hi",
		"sleep 1000 & echo hi",
		"(sleep 1000 & sleep 1000 &) ; echo hi",
		"python3 -c 'import os\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\nos.execlp(\"sleep\",\"sleep\",\"1000\")'; echo hi",
	} {
		task := w.wait(w.start(command))
		w.is(task, registry.Completed, "exit code: 0")
		if text := w.read(task); text != "hi\n" {
			t.Errorf("%q printed %q", command, text)
		}
		if n := w.registry.Facts(task).Leftovers; n < 1 {
			t.Errorf("%q left %d processes, want them shown", command, n)
		}
		if procs := w.registry.Facts(task).Leftovers; procs > 2 {
			t.Errorf("%q: %d leftovers are told", command, procs)
		}
		if already, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); !already || err != nil {
			t.Errorf("kill of an ended task: already %v, %v", already, err)
		}
		w.gone(task)
		if n := w.registry.Facts(task).Leftovers; n != 0 {
			t.Errorf("%q: %d leftovers after the kill", command, n)
		}
	}
}

// alivePIDs gives those of the pids in the text that live (zombies do not).
func alivePIDs(text string) []int {
	var list []int
	for _, field := range strings.Fields(text) {
		pid, err := strconv.Atoi(field)
		if err != nil || syscall.Kill(pid, 0) != nil {
			continue
		}
		if fields, err := statFields(pid); err == nil && fields[0] != "Z" {
			list = append(list, pid)
		}
	}
	return list
}

// TestKill pins T198 for the whole tree: TERM, the grace, KILL, whatever the
// processes do against it.
func TestKill(t *testing.T) {
	w := newWorld(t)
	ample := w.settings.StopGraceMs
	for _, c := range []struct{ name, command, detail string }{
		{"plain", "echo $$ ready; sleep 1000", "signal: SIGTERM"},
		{"TERM-proof", "trap '' TERM; echo $$ ready; while :; do sleep 1000; done", "signal: SIGKILL"},
		{"exits by itself", "trap 'exit 7' TERM; echo $$ ready; while :; do sleep 0.01; done", "exit code: 7"},
		{"one after the other", "sleep 1000 & sleep 0.1; echo $$ ready; sleep 1000; echo 1 >&2; sleep 1000; sleep 1000", "signal: SIGTERM"},
		{"nested setsid", "setsid bash -c 'setsid bash -c \"trap \\\"\\\" TERM; echo \\$\\$; sleep 1000\" & echo $$; sleep 1000' & sleep 0.2; echo $$ ready; sleep 1000", "signal: SIGTERM"},
		{"stopped", "bash -c 'echo $$; kill -STOP $$' & sleep 0.1; echo $$ ready; sleep 1000", "signal: SIGTERM"},
		{"forks meanwhile", "trap '' TERM; f() { trap '' TERM; for i in {1..1000}; do (sleep 1000 & echo $!) ; sleep 0.001; done; wait; sleep 1000; }; f & f & echo $$ ready; wait", "signal: SIGKILL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			task := w.start(c.command)
			w.until(task, "ready")
			// The grace is short where it has to be over. What ends within it gets all the time that it may need.
			signal, killed := strings.CutPrefix(c.detail, "signal: ")
			if w.settings.StopGraceMs = ample; signal == "SIGKILL" {
				w.settings.StopGraceMs = 200
			}
			if already, stopping, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); already || err != nil || stopping.Status != registry.Stopping && stopping.Status != registry.Killed {
				t.Fatalf("kill: already %v, %s, %v", already, stopping.Status, err)
			}
			ended := w.wait(task)
			if ended.Status != registry.Killed {
				t.Errorf("ended %s, %s", ended.Status, detail(ended))
			}
			if ended.Signal != "" && ended.Signal != signal || !killed && (ended.ExitCode == nil || *ended.ExitCode != 7) {
				t.Errorf("ended by %q with exit code %v, want %s", ended.Signal, ended.ExitCode, c.detail)
			}
			w.settings.StopGraceMs = 200 // for what is TERM-proof below one that is not
			if _, err := w.p.EndLeftovers(task.Row); err != nil {
				t.Error(err)
			}
			w.gone(task)
			if alive := alivePIDs(w.read(task)); len(alive) > 0 {
				t.Errorf("processes %v of the tree live on", alive)
			}
		})
	}
}

// TestRestart: a daemon that goes away costs nothing. The next one adopts what
// runs, settles what ended meanwhile by its record, says `lost` where there is
// none, and reads on where the last one was.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	in := func(s *Spec) { s.Cwd = dir }
	runs := w.start("echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 5", in)
	ends := w.start("while [ ! -e down ]; do sleep 0.01; done; echo done; exit 4; ", in)
	stray := w.start("while [ ! -e down ]; do sleep 0.01; done; sleep 1000 & exit 0", in)
	killed := w.start("echo here; sleep 1000", in)
	w.until(runs, "one")
	w.until(killed, "here")
	if text := w.read(runs); text != "one\n" {
		t.Errorf("read %q", text)
	}
	keepers := []int{w.keeperOf(ends), w.keeperOf(killed)}
	w.end()
	touch(t, dir, "down")
	if err := syscall.Kill(keepers[1], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, pid := range keepers {
		awaitGone(t, pid)
	}
	w.awaitFile(w.exitFile(stray))
	w.begin()

	w.is(w.wait(ends), registry.Completed, "exit code: 4")
	if text := w.read(ends); text != "done\n" {
		t.Errorf("read %q of the task that ended while no daemon ran", text)
	}
	w.lost(w.wait(killed))
	w.is(w.wait(stray), registry.Completed, "exit code: 0")
	if n := w.registry.Facts(stray).Leftovers; n != 1 {
		t.Errorf("%d leftovers after the restart, want 1", n)
	}
	live, err := w.registry.Get(registry.AsOperator(), runs.ID)
	if err != nil || live.Status != registry.Running {
		t.Errorf("the running task is %s after the restart, %v", live.Status, err)
	}
	touch(t, dir, "go")
	w.is(w.wait(runs), registry.Completed, "exit code: 5")
	if text := w.read(runs); text != "two\n" {
		t.Errorf("read %q, want what came after the last read", text)
	}

	// Once more: what has ended stays as it is, and its leftovers are known.
	w.restart()
	again, err := w.registry.Get(registry.AsOperator(), ends.ID)
	if err != nil {
		t.Fatal(err)
	}
	w.is(again, registry.Completed, "exit code: 4")
	if n, err := w.p.EndLeftovers(stray.Row); n != 1 || err != nil {
		t.Errorf("ended %d leftovers, %v", n, err)
	}
	w.gone(stray)
}

// TestStateDeleted: somebody deletes the state folders under a running command.
// It goes on, later output is kept, and its end is told.
func TestStateDeleted(t *testing.T) {
	w := newWorld(t)
	w.settings.SpoolBytes, w.settings.KeepHeadBytes = 1<<20, 1000
	dir := t.TempDir()
	task := w.start("echo begin; while [ ! -e go ]; do sleep 0.01; done; seq 1 50000; exit 3", func(s *Spec) { s.Cwd = dir })
	w.until(task, "begin")
	for _, gone := range []string{w.paths.Tasks(), w.paths.Exits()} {
		w.remove(gone)
	}
	touch(t, dir, "go")
	w.is(w.wait(task), registry.Completed, "exit code: 3")
	if text := w.read(task); !strings.HasSuffix(text, "\n49999\n50000\n") {
		t.Errorf("read %q", text[max(0, len(text)-30):])
	}
}

// TestFoldersDeleted: after somebody deleted the folders commands are started and
// their ends told as before, also of those whose leftovers keep the keeper alive.
func TestFoldersDeleted(t *testing.T) {
	w := newWorld(t)
	for _, gone := range []string{w.paths.Tasks(), w.paths.Exits(), w.paths.Control()} {
		w.remove(gone)
	}
	for range 2 {
		w.is(w.wait(w.start("sleep 1000 >/dev/null 2>&1 & exit 3")), registry.Completed, "exit code: 3")
	}
}

// TestLockDeleted: a command whose locked file was deleted is found by the next
// daemon all the same: it goes on, its end is told, and it can be stopped.
func TestLockDeleted(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	ends := w.start("while [ ! -e go ]; do sleep 0.01; done; exit 3", func(s *Spec) { s.Cwd = dir })
	stays := w.start("sleep 1000")
	if err := os.Remove(w.p.lockFile(ends.Row)); err != nil {
		t.Fatal(err)
	}
	w.remove(w.p.dir(stays.Row))
	w.restart()
	touch(t, dir, "go")
	w.is(w.wait(ends), registry.Completed, "exit code: 3")
	keeper := w.keeperOf(stays)
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), stays.ID, nil); err != nil {
		t.Fatal(err)
	}
	w.is(w.wait(stays), registry.Killed, "killed by the user")
	awaitGone(t, keeper)
}

// TestPowerCut: what lies on disk of a task whose commits a power cut took is
// deleted, and its row and id are not given again (T21).
func TestPowerCut(t *testing.T) {
	w := newWorld(t)
	w.wait(w.start("true"))
	w.end()
	stray := filepath.Join(w.paths.Tasks(), "9")
	for _, dir := range []string{stray, filepath.Join(stray, wire.OutDir)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	touch(t, stray, "lock")
	touch(t, w.paths.Exits(), "9")
	w.begin()
	if _, err := os.Stat(stray); !os.IsNotExist(err) {
		t.Errorf("the folder of a task that nobody knows is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.paths.Exits(), "9")); !os.IsNotExist(err) {
		t.Errorf("its record is still there: %v", err)
	}
	if next := w.wait(w.start("true")); next.Row <= 9 || next.ID == "bash-2" {
		t.Errorf("the next task is %s of row %d, want new numbers behind all that may have been given", next.ID, next.Row)
	}
}

// TestOutcome pins the texts of ends that depend on the machine (T191).
func TestOutcome(t *testing.T) {
	for want, e := range map[string]wire.Exit{
		"killed, signal: SIGSEGV (core dumped)":                           {Signal: 11, Core: true},
		"killed, exit code: 0":                                            {Cause: wire.CauseStop},
		"killed, timed out after 5 ms":                                    {Cause: wire.CauseTimeout, TimeoutMs: 5, Code: 1},
		"completed, exit code: 1, 7 bytes of output could not be written": {Code: 1, Dropped: 7},
		"failed, spawn failed: /x: exec format error":                     {SpawnError: "/x: exec format error"},
		"failed, out of memory":                                           {OutOfMemory: true, Signal: 9},
		"completed, exit code: 0":                                         {OutOfMemory: true},
		"killed, signal: SIGKILL":                                         {OutOfMemory: true, Signal: 9, Cause: wire.CauseStop},
	} {
		o := outcome(e)
		if got := string(o.Status) + ", " + *o.Detail; got != want {
			t.Errorf("%+v ended %q, want %q", e, got, want)
		}
		if o.TimedOut != (e.Cause == wire.CauseTimeout) {
			t.Errorf("%+v timed out: %t", e, o.TimedOut)
		}
	}
}

// lost checks the end of a task whose keeper was killed while no daemon ran. The
// text depends on whether its last thread had ended when the next one looked.
func (w *world) lost(t registry.Task) {
	w.Helper()
	for _, text := range []string{"lost: neither its keeper nor a record of its end is there", "lost: its keeper was killed", "lost: its keeper ended"} {
		if t.Status == registry.Failed && detail(t) == text {
			return
		}
	}
	w.Errorf("%s ended %s, %q; want it lost", t.ID, t.Status, detail(t))
}

// TestKeeperKilled: a keeper that dies alone leaves `failed`, `lost: …`, never an
// invented code, and nothing of its tree runs on unseen, whether or not a daemon
// was there; other tasks' processes are left alone.
func TestKeeperKilled(t *testing.T) {
	w := newWorld(t)
	other := w.start("sleep 1000 & echo $$ $! ready; wait")
	const command = "setsid bash -c 'sleep 1000 & echo $! $$; wait' & sleep 0.1; echo $$ ready; sleep 1000"
	now, later := w.start(command), w.start(command)
	for _, task := range []registry.Task{other, now, later} {
		w.until(task, "ready")
	}
	otherPids := strings.Fields(w.read(other))[:2]
	nowPids, laterPids := w.read(now), w.read(later)
	if err := syscall.Kill(w.keeperOf(now), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.is(w.wait(now), registry.Failed, "lost: its keeper was killed")
	if alive := alivePIDs(nowPids); len(alive) > 0 {
		t.Errorf("%v run on", alive)
	}
	// Its own command kills the keeper before that can tell of the start: there was
	// a command, so there is a task. A leftover with a clean environment is found
	// by the pipe that it writes to.
	dir := t.TempDir()
	murders := w.start("env -i setsid bash -c 'echo $$ > pid; exec sleep 1000' & while [ ! -s pid ]; do :; done; kill -KILL $PPID; sleep 1000", func(s *Spec) { s.Cwd = dir })
	w.is(w.wait(murders), registry.Failed, "lost: its keeper was killed")
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil || len(alivePIDs(string(pid))) > 0 {
		t.Errorf("process %s of the keeper's murderer runs on, %v", pid, err)
	}
	// A keeper that crashes says why in its file; here it is made to by a signal
	// that a Go program dies of with a trace.
	crashes := w.start("echo ready; sleep 1000")
	w.until(crashes, "ready")
	if err := syscall.Kill(w.keeperOf(crashes), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	w.is(w.wait(crashes), registry.Failed, "lost: its keeper crashed: SIGQUIT: quit")
	keeper := w.keeperOf(later)
	w.end()
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, keeper)
	w.begin()
	w.lost(w.wait(later))
	if alive := alivePIDs(laterPids); len(alive) > 0 {
		t.Errorf("%v run on", alive)
	}
	if alive := alivePIDs(strings.Join(otherPids, " ")); len(alive) != 2 {
		t.Errorf("of another task's processes %v only %v live", otherPids, alive)
	}
}
