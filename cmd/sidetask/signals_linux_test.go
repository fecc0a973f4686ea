package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal ends what stays with the status that a shell gives it, says that the task
// goes on, and leaves the terminal as it was.
func TestSignalled(t *testing.T) {
	sidetask, env, do := atTerminal(t)
	do("run", "--pty", "-c", "echo ready; exec sleep 1000")
	for _, c := range []struct {
		signal syscall.Signal
		args   []string
		shown  string
		goesOn bool
	}{
		{syscall.SIGTERM, []string{"attach", "bash-1"}, "ready", true},
		{syscall.SIGINT, []string{"attach", "bash-1"}, "ready", true},
		{syscall.SIGHUP, []string{"attach", "bash-1"}, "ready", true},
		{syscall.SIGQUIT, []string{"attach", "bash-1"}, "ready", true},
		{syscall.SIGQUIT, []string{"tail", "-f", "bash-1"}, "ready", true},
		{syscall.SIGHUP, []string{"tail", "-f", "bash-1"}, "ready", true},
		{syscall.SIGQUIT, []string{"run", "-f", "-c", "echo ready; exec sleep 1000"}, "ready", true},
		{syscall.SIGQUIT, []string{"ls", "-w"}, "bash-1", false},
	} {
		s, cmd := onTerminal(t, env, sidetask, c.args...)
		s.await(c.shown)
		if err := cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		if c.goesOn {
			s.await(" goes on: ")
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(c.signal) {
			t.Errorf("%v at %v: %v, want exit status %d\n%s", c.args, c.signal, err, 128+int(c.signal), s.seen.String())
		}
		if strings.Contains(s.seen.String(), "goroutine") {
			t.Errorf("%v at %v: %s", c.args, c.signal, s.seen.String())
		}
		if !echoes(t, s.tty) {
			t.Errorf("%v at %v leaves the terminal raw", c.args, c.signal)
		}
	}
}

// echoes reports whether the terminal shows what is typed, as one that is not raw does.
func echoes(t *testing.T, tty *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
