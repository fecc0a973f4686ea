package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/creack/pty"
)

// screen collects what a terminal shows and lets a test wait for a text on it.
type screen struct {
	t     *testing.T
	tty   *os.File
	reads chan []byte // closed when the terminal is
	seen  bytes.Buffer
}

// onTerminal starts a program on a terminal of its own.
func onTerminal(t *testing.T, env []string, program string, args ...string) (*screen, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 97, Rows: 31})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, tty: tty, reads: make(chan []byte)}
	go func() { // ends when the program has, and its terminal is closed
		defer close(s.reads)
		for {
			buf := make([]byte, 4096)
			n, err := tty.Read(buf)
			if n > 0 {
				s.reads <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // where a test has failed: else it has ended
		_ = tty.Close()
		for range s.reads { // to its end
		}
	})
	return s, cmd
}

// await waits until text is on the screen.
func (s *screen) await(text string) {
	s.t.Helper()
	limit := time.After(deadline)
	for !strings.Contains(s.seen.String(), text) {
		select {
		case part, ok := <-s.reads:
			if !ok {
				s.t.Fatalf("the terminal closed before it showed %q:\n%s", text, s.seen.String())
			}
			s.seen.Write(part)
		case <-limit:
			s.t.Fatalf("%q does not come:\n%s", text, s.seen.String())
		}
	}
}

func (s *screen) typeText(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// atTerminal is a person's world: the program, its environment, and a way to run it
// without a terminal.
func atTerminal(t *testing.T) (sidetask string, env []string, do func(args ...string) string) {
	t.Helper()
	sidetask = filepath.Join(buildPrograms(t), "sidetask")
	home, err := os.MkdirTemp("", "st")
	if err != nil {
		t.Fatal(err)
	}
	env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=xterm"}
	for name, below := range folders {
		if err := os.MkdirAll(filepath.Join(home, below), 0o700); err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+filepath.Join(home, below))
	}
	do = func(args ...string) string {
		t.Helper()
		cmd := exec.Command(sidetask, args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("sidetask %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() {
		do("daemon", "stop", "--cancel-tasks")
		_ = os.RemoveAll(home)
	})
	return sidetask, env, do
}

// What the daemon says of a task may hold the task's own bytes: a terminal is not
// given its sequences, a pipe has the text as it is.
func TestOutputOnTerminal(t *testing.T) {
	sidetask, env, do := atTerminal(t)
	config := filepath.Join(strings.TrimPrefix(env[1], "HOME="), folders["XDG_CONFIG_HOME"], "sidetask")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte("[commands]\ncleanOutput = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(do("run", "-c", `printf 'a\033]0;title\007b\033[2Jc\n'`))
	do("wait", id)
	raw := do("output", id)
	if want := "a\x1b]0;title\ab\x1b[2Jc\n[status: completed, exit code: 0]\n"; raw != want {
		t.Errorf("to a pipe: %q, want %q", raw, want)
	}
	id = strings.TrimSpace(do("run", "-c", `printf 'a\033]0;title\007b\033[2Jc\n'`))
	do("wait", id)
	s, cmd := onTerminal(t, env, sidetask, "output", id)
	s.await("abc\r\n[status: completed, exit code: 0]\r\n")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// What is shown on a terminal only: that there is nothing to list, and the lines of
// a task with a terminal of its own, each ended once.
func TestOnTerminal(t *testing.T) {
	sidetask, env, do := atTerminal(t)
	s, cmd := onTerminal(t, env, sidetask, "ls", "-w")
	s.await("no tasks\r\n")
	// On a narrow one a task is one line.
	if err := pty.Setsize(s.tty, &pty.Winsize{Cols: 40, Rows: 31}); err != nil {
		t.Fatal(err)
	}
	do("run", "-l", strings.Repeat("long", 20), "--", "sleep", "1000")
	s.await("\r\nbash-1  bash  running")
	s.await("…\r\n")
	for line := range strings.SplitSeq(strings.ReplaceAll(s.seen.String(), "\x1b[H\x1b[2J", ""), "\r\n") {
		if displaywidth.String(line) > 40 {
			t.Errorf("ls -w on 40 columns: %q", line)
		}
	}
	do("kill", "bash-1")
	s.typeText("\x03")
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("ls -w after Ctrl-C: %v", err)
	}
	s, cmd = onTerminal(t, env, sidetask, "run", "-f", "--pty", "-c", "echo one; echo two; echo three")
	s.await("one\r\ntwo\r\nthree\r\n")
	if err := cmd.Wait(); err != nil {
		t.Errorf("run -f --pty: %v", err)
	}
}

// A person sits at a task's terminal, resizes theirs, leaves with ~. and comes
// back; the task ends when its program does.
func TestAttach(t *testing.T) {
	sidetask, env, do := atTerminal(t)

	do("run", "--pty", "--", "bash", "--norc", "--noprofile")
	s, cmd := onTerminal(t, env, sidetask, "attach", "bash-1")
	s.typeText("stty size; echo one$((1+1))two\n")
	s.await("31 97")
	s.await("one2two")
	s.typeText("\r~.")
	s.await("left bash-1 running")
	if err := cmd.Wait(); err != nil {
		t.Errorf("detaching: %v", err)
	}
	if got := do("ls"); !strings.Contains(got, "running") {
		t.Errorf("after detaching ls says %q", got)
	}

	s, cmd = onTerminal(t, env, sidetask, "attach", "bash-1")
	s.await("one2two") // what was written before
	s.typeText("exit 7\n")
	s.await("exit code: 7")
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}

	do("run", "--pty", "-c", "trap 'stty size' WINCH; echo ready; while :; do sleep 0.1; done")
	s, cmd = onTerminal(t, env, sidetask, "attach", "bash-2")
	s.await("ready")
	if err := pty.Setsize(s.tty, &pty.Winsize{Cols: 50, Rows: 20}); err != nil {
		t.Fatal(err)
	}
	s.await("20 50")
	s.typeText("~.")
	s.await("left bash-2 running")
	if err := cmd.Wait(); err != nil {
		t.Errorf("detaching: %v", err)
	}
}
