package daemon_test

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealJob runs the tests of some rooms as a task, watches it with tail -f,
// and kills the daemon in the middle: output and exit status are right after
// the next command has started another one.
func TestRealJob(t *testing.T) {
	w := newWorld(t)
	w.dial()
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.command("run", "-C", repository, "--", "go", "test", "-count=1", "-v", "./scope", "./nosuchroom", "./render").Output()
	if err != nil {
		t.Fatalf("run: %v %s", err, stderrOf(err))
	}
	id := strings.TrimSpace(string(out))
	tail := w.command("tail", "-f", id)
	var watched, complaints bytes.Buffer
	tail.Stdout, tail.Stderr = &watched, &complaints
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	w.kill()
	ended := w.command("wait", id) // starts the next daemon
	err = ended.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("wait: %v, want go test's exit status 1", err)
	}
	if err := tail.Wait(); err != nil {
		t.Errorf("tail -f: %v\n%s", err, complaints.String())
	}
	whole, err := w.command("tail", "--raw", id).Output()
	if err != nil {
		t.Fatalf("tail: %v %s", err, stderrOf(err))
	}
	for _, want := range []string{"--- PASS: TestParse", "ok  \tsidetask/scope", "nosuchroom", "ok  \tsidetask/render", "FAIL\n"} {
		if !strings.Contains(string(whole), want) {
			t.Errorf("the output has no %q:\n%s", want, whole)
		}
	}
	if watched.String() != string(whole) {
		t.Errorf("tail -f saw something else than is there:\n%s", watched.String())
	}
}
