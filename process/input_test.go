package process

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidetask/registry"
)

func terminal(s *Spec) { s.PTYCols, s.PTYRows = 90, 33 }

func stdin(s *Spec) { s.Stdin = true }

func (w *world) write(t registry.Task, req registry.WriteRequest) (int, error) {
	return w.registry.Write(w.context(), registry.AsOperator(), t.ID, req)
}

// TestStdin: input goes to a command that was started with stdin, across a
// restart of the daemon, and ends when asked; more than a pipe holds waits for
// the command to take it.
func TestStdin(t *testing.T) {
	w := newWorld(t)
	task := w.start("read -r line; echo got $line; wc -c", stdin)
	if n, err := w.write(task, registry.WriteRequest{Data: []byte("hello\n")}); n != 6 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	w.until(task, "got hello\n")
	w.restart()
	if n, err := w.write(task, registry.WriteRequest{Data: make([]byte, 300_000)}); n != 300_000 || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if _, err := w.write(task, registry.WriteRequest{Data: []byte("end"), EOF: true}); err != nil {
		t.Fatal(err)
	}
	w.is(w.wait(task), registry.Completed, "exit code: 0")
	if text := w.read(task); text != "300003\n" && text != "got hello\n300003\n" {
		t.Errorf("printed %q", text)
	}
	if _, err := w.write(task, registry.WriteRequest{Data: []byte("x")}); err == nil || !strings.Contains(err.Error(), "finished") {
		t.Errorf("input for an ended command: %v", err)
	}
}

// TestNoInput: stdin is /dev/null by default; input for a command that takes none,
// or no more, is an error that says so.
func TestNoInput(t *testing.T) {
	w := newWorld(t)
	task := w.start("cat; echo eof; sleep 1000")
	w.until(task, "eof\n")
	if _, err := w.write(task, registry.WriteRequest{Data: []byte("x")}); err == nil || !strings.Contains(err.Error(), "start it with stdin") {
		t.Errorf("input without stdin: %v", err)
	}
	closes := w.start("exec <&-; echo closed; sleep 1000", stdin)
	w.until(closes, "closed\n")
	if _, err := w.write(closes, registry.WriteRequest{Data: []byte("x")}); err == nil || !strings.Contains(err.Error(), "takes no input") {
		t.Errorf("input for a closed stdin: %v", err)
	}
	ended := w.start("cat; echo all; sleep 1000", stdin)
	for range 2 { // asking again changes nothing
		if _, err := w.write(ended, registry.WriteRequest{EOF: true}); err != nil {
			t.Errorf("end of input: %v", err)
		}
	}
	w.until(ended, "all\n")
	if _, err := w.write(ended, registry.WriteRequest{Data: []byte("x")}); err == nil || !strings.Contains(err.Error(), "takes no more input") {
		t.Errorf("input after its end: %v", err)
	}
	if _, err := w.write(closes, registry.WriteRequest{Cols: 10, Rows: 10}); err == nil || !strings.Contains(err.Error(), "no terminal") {
		t.Errorf("resize without a terminal: %v", err)
	}
	if _, err := w.write(closes, registry.WriteRequest{Cols: 10_001, Rows: 10}); err == nil || err.Error() != "invalid resize: expected 1 to 10000 columns and rows, got 10001 and 10" {
		t.Errorf("a large terminal: %v", err)
	}
}

// TestTerminal: a command with a terminal has it as controlling one, of the size
// asked for, is told of a new size, reads what is typed, and hears ^C and ^D.
func TestTerminal(t *testing.T) {
	w := newWorld(t)
	task := w.start(`stty size; tty | sed s/[0-9]*$//; trap 'stty size' WINCH; [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo all three; echo ${NO_COLOR-colour} $TERM; read -r line < /dev/tty; echo typed $line; cat; echo after; sleep 1000`, terminal)
	got := w.until(task, "colour")
	for _, want := range []string{"33 90\r\n", "/dev/pts/\r\n", "all three\r\n"} {
		if !contains(got, want) {
			t.Errorf("printed %q, want %q in it", got, want)
		}
	}
	w.until(task, "xterm-256color")
	if _, err := w.write(task, registry.WriteRequest{Cols: 50, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.write(task, registry.WriteRequest{Data: []byte("some words\n")}); err != nil {
		t.Fatal(err)
	}
	if got := w.until(task, "typed some words"); !contains(got, "20 50") {
		t.Errorf("a new size was not told: %q", got)
	}
	if _, err := w.write(task, registry.WriteRequest{EOF: true}); err != nil {
		t.Fatal(err)
	}
	w.until(task, "after")
	if _, err := w.write(task, registry.WriteRequest{Data: []byte{3}}); err != nil {
		t.Fatal(err)
	}
	w.is(w.wait(task), registry.Killed, "signal: SIGINT")
	for range 10 {
		last := w.wait(w.start("seq 1 500; echo -n last", terminal))
		if text := w.read(last); !strings.HasPrefix(text, "1\n2\n") || !strings.HasSuffix(text, "\n500\nlast") {
			t.Errorf("through a terminal: %q", text)
		}
	}
}

// TestWaitingForInput: a command that is blocked reading its terminal or stdin,
// and silent for long, is marked so; one that is just silent is not.
func TestWaitingForInput(t *testing.T) {
	w := newWorld(t)
	w.p.waiting = 50
	for name, c := range map[string]struct {
		command string
		change  func(*Spec)
		want    string
	}{
		"terminal": {"printf 'password: '; read -rs secret", terminal, "waiting for input"},
		"stdin":    {"printf 'name: '; bash -c 'read -r line'", stdin, "waiting for input"},
		"tty":      {"bash -c 'printf ready; read -r line < /dev/tty'", terminal, "waiting for input"},
		"silent":   {"printf ready; sleep 1000", terminal, ""},
		"no input": {"printf ready; sleep 1000", func(*Spec) {}, ""},
		"a pipe":   {"printf ready; sleep 1000 | cat", stdin, ""},
	} {
		task := w.start(c.command, c.change)
		w.until(task, " ", "ready")
		if c.want == "" {
			time.Sleep(100 * time.Millisecond) // longer than the silence asked for
			if got := w.registry.Facts(task).Hint; got != "" {
				t.Errorf("%s: hint %q", name, got)
			}
			continue
		}
		eventually(t, name+": the hint is given", func() bool { return w.registry.Facts(task).Hint == c.want })
		if _, err := w.write(task, registry.WriteRequest{Data: []byte("x\n")}); err != nil {
			t.Fatal(err)
		}
		w.wait(task)
		if got := w.registry.Facts(task).Hint; got != "" {
			t.Errorf("%s: hint %q of an ended task", name, got)
		}
	}
}

// TestTimeout: a command over its time is ended by its keeper, whether or not a
// daemon runs, and told apart from a kill.
func TestTimeout(t *testing.T) {
	w := newWorld(t)
	ms, ample := int64(150), patience.Milliseconds()
	limit := func(s *Spec) { s.TimeoutMs = &ms }
	w.settings.StopGraceMs = 100
	proof := w.start("trap '' TERM; while :; do sleep 1000; done", limit)
	w.settings.StopGraceMs = ample // it may need any time to hear the signal
	code := w.start("trap 'exit 9' TERM; while :; do sleep 0.01; done", limit)
	intime := w.start("sleep 1000 & exit 2", func(s *Spec) { s.TimeoutMs = &ample })
	old := w.p.oldRecord
	w.end()
	for _, task := range []registry.Task{proof, code} {
		w.awaitFile(w.exitFile(task), old(task.Row)) // one that was ended before the daemon was is put away
	}
	w.begin()
	w.is(w.wait(proof), registry.Killed, "timed out after 150 ms")
	w.is(w.wait(code), registry.Killed, "timed out after 150 ms")
	w.is(w.wait(intime), registry.Completed, "exit code: 2")
	// The code is told beside the time-out, if the command lived to set its trap.
	if got := w.wait(code); got.Signal != "SIGTERM" && (got.ExitCode == nil || *got.ExitCode != 9) {
		t.Errorf("exit code %v, signal %q beside the time-out, want 9 or SIGTERM", got.ExitCode, got.Signal)
	}
	// The settings' limit holds where a start names none.
	w.settings.TimeoutMs = 50
	w.is(w.wait(w.start("sleep 1000")), registry.Killed, "timed out after 50 ms")
}

// TestKillTwice pins T198: a second kill does not begin the grace anew.
func TestKillTwice(t *testing.T) {
	w := newWorld(t)
	w.settings.StopGraceMs = 300
	task := w.start("trap '' TERM; echo ready; while :; do sleep 0.05; done")
	w.until(task, "ready")
	ended, stop := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(stop)
		for { // to its end: were the grace to begin anew, it would never be over
			_ = w.p.Cancel(t.Context(), task.Row, nil)
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	w.is(w.wait(task), registry.Killed, "signal: SIGKILL")
	close(ended)
	if took := time.Since(began); took < 300*time.Millisecond {
		t.Errorf("killed after %v, before the grace was over", took)
	}
	<-stop
}

// TestStoppedKeeper: a command that stops its own keeper is killed all the same,
// and ends at its time limit; its start does not hang on it.
func TestStoppedKeeper(t *testing.T) {
	w := newWorld(t)
	w.settings.StopGraceMs = 100
	w.p.survivors, w.p.silence = 100*time.Millisecond, 500*time.Millisecond
	for _, command := range []string{"kill -STOP $PPID; sleep 1000", "trap '' TERM; while :; do kill -STOP $PPID; done"} {
		task := w.start(command)
		if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); err != nil {
			t.Fatal(err)
		}
		if ended := w.wait(task); !ended.Status.Terminal() {
			t.Errorf("%q: %s", command, ended.Status)
		}
		w.gone(task)
		ms := int64(50)
		limited := w.wait(w.start(command, func(s *Spec) { s.TimeoutMs = &ms }))
		if d := detail(limited); d != "timed out after 50 ms" && d != "lost: its keeper was killed" {
			t.Errorf("%q over its time ended %s, %q", command, limited.Status, d)
		}
	}
}

// TestSurvivors: what lives when a kill should be over is named.
func TestSurvivors(t *testing.T) {
	w := newWorld(t)
	w.end()
	told := make(chan string, 10)
	w.log = slog.New(slog.NewTextHandler(lines(told), nil))
	w.begin()
	w.settings.StopGraceMs = 1_000_000
	w.p.survivors = -999_900 * time.Millisecond // within the grace: nothing outlives a KILL at will
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ready"), []byte("ready\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The last of them says so itself, when it is the program that it is to be.
	task := w.start("trap '' TERM; bash -c 'exec -a stubborn tail -f ready'; sleep 1000", func(s *Spec) { s.Cwd = dir })
	w.until(task, "ready")
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-told:
		if !strings.Contains(line, "do not end") || !strings.Contains(line, "tail (") || !strings.Contains(line, "bash (") {
			t.Errorf("told %q", line)
		}
	case <-time.After(patience):
		t.Error("nothing was told")
	}
}

type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestChangedGrace: a kill has the grace that is in force now, not that of the
// command's start.
func TestChangedGrace(t *testing.T) {
	w := newWorld(t)
	w.settings.StopGraceMs = 1_000_000
	task := w.start("trap '' TERM; echo ready; while :; do sleep 0.05; done")
	w.until(task, "ready")
	if err := w.p.Cancel(t.Context(), task.Row, nil); err != nil { // with the old one, for long
		t.Fatal(err)
	}
	w.settings.StopGraceMs = 0
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); err != nil {
		t.Fatal(err)
	}
	if ended := w.wait(task); ended.Signal != "SIGKILL" {
		t.Errorf("ended by %q", ended.Signal)
	}
}

// TestSocketSwept: a keeper whose control socket was deleted, with its folder (a
// cleaner of temporary files), is still stopped, and new ones are started.
func TestSocketSwept(t *testing.T) {
	w := newWorld(t)
	task := w.start("echo ready; sleep 1000")
	w.until(task, "ready")
	w.remove(w.paths.Runtime)
	w.is(w.wait(w.start("exit 2")), registry.Completed, "exit code: 2")
	if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); err != nil {
		t.Fatal(err)
	}
	if ended := w.wait(task); ended.Status != registry.Killed || ended.Signal != "SIGTERM" {
		t.Errorf("ended %s by %q", ended.Status, ended.Signal)
	}
}

// TestSocketSweptAndInput: one that takes input takes it also then, across a restart
// of the daemon: its keeper makes another socket when it is asked to.
func TestSocketSweptAndInput(t *testing.T) {
	w := newWorld(t)
	task := w.start("read -r a; echo got $a; stty size; read -r b; stty size; echo got $b; exit 5", terminal)
	for i, restart := range []bool{false, true} {
		w.remove(w.paths.Runtime)
		if restart {
			w.restart()
			w.remove(w.paths.Control())
		}
		if _, err := w.write(task, registry.WriteRequest{Cols: 70 + i, Rows: 20}); err != nil {
			t.Fatal(err)
		}
		w.remove(w.p.control(task.Row))
		if n, err := w.write(task, registry.WriteRequest{Data: []byte("x\n")}); n != 2 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		w.until(task, "got x\r\n")
	}
	w.is(w.wait(task), registry.Completed, "exit code: 5")
}

// TestLoudLeftover: a task ends though what it left running goes on writing as
// fast as it can, through a pipe or a terminal.
func TestLoudLeftover(t *testing.T) {
	w := newWorld(t)
	w.settings.SpoolBytes = 1 << 20
	for _, change := range []func(*Spec){func(*Spec) {}, terminal} {
		task := w.wait(w.start("trap '' HUP; yes & sleep 0.2; exit 6", change))
		w.is(task, registry.Completed, "exit code: 6")
		if n := w.registry.Facts(task).Leftovers; n != 1 {
			t.Errorf("%d leftovers, want the loud one", n)
		}
		if _, err := w.p.EndLeftovers(task.Row); err != nil {
			t.Fatal(err)
		}
		w.gone(task)
	}
}
