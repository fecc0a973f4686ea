package harness

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHarness: the agent is told of each end as it comes; what has no wake left for
// it waits for the person's prompt.
func TestHarness(t *testing.T) {
	home, err := os.MkdirTemp("", "st") // short: a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, filepath.Join(home, name))
	}
	t.Setenv("SIDETASK_SOCKET", "")
	t.Setenv("SIDETASK_CONFIG", filepath.Join(home, "config.toml"))
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("[mounts.\"/\"]\nmaxConsecutiveWakes = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "go", "build", "-o", home+"/", "../../cmd/...")
	run(t, filepath.Join(home, "sidetask"), "status")
	t.Cleanup(func() { run(t, filepath.Join(home, "sidetask"), "daemon", "stop") })

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a hang
	defer cancel()
	second := filepath.Join(home, "go")
	cmd := exec.CommandContext(ctx, "./harness.py", "echo $GREETING; exit 3", "until [ -e "+second+" ]; do sleep 0.01; done; echo two")
	cmd.Env = append(os.Environ(), "GREETING=hello")
	cmd.Stderr = os.Stderr
	person, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			lines.Scan()
			if got := lines.Text(); !strings.HasPrefix(got, w) {
				t.Errorf("it prints %q, want %q…", got, w)
			}
		}
	}
	expect("started: bash-1 bash-2", "told: background task bash-1 ", "hello", "[status: completed, exit code: 3]")
	if err := os.WriteFile(second, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect("no wake is left: ")
	if _, err := person.Write([]byte("and?\n")); err != nil {
		t.Fatal(err)
	}
	expect("told: background task bash-2 ", "two", "[status: completed, exit code: 0]")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// run runs a program that should end well.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
