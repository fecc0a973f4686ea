package daemon_test

import (
	"bufio"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentIsWokenAfterACrash: the editor and its agent idle while the daemon
// is killed under them; nobody types a command, and the agent is woken when its
// task ends.
func TestAgentIsWokenAfterACrash(t *testing.T) {
	w := newWorld(t)
	gate := filepath.Join(w.dir, "gate")
	editor := w.command()
	editor.Path = filepath.Join(binaries, "editor")
	editor.Args = []string{
		"editor", "-prompt", "run `until [ -e " + gate + " ]; do sleep 0.05; done; echo survived`", "--",
		w.program(), "acp", "--", filepath.Join(binaries, "agent"),
	}
	out, err := editor.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints strings.Builder
	editor.Stderr = &complaints
	if err := editor.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		seen.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "end of the turn") {
			w.kill()
			w.touch(gate)
		}
	}
	if err := editor.Wait(); err != nil {
		t.Errorf("editor: %v\n%s", err, complaints.String())
	}
	for _, want := range []string{"the agent is woken", "survived", "[status: completed, exit code: 0]"} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("the conversation has no %q:\n%s%s", want, seen.String(), w.log())
		}
	}
}
