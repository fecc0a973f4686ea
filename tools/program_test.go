package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidetask/config"
)

// programOf is the policy program that a shell script is.
func programOf(t *testing.T, text string) *policy {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	ps := newPolicies()
	return &policy{Attachment: Attachment{Timeout: time.Minute}, Policy: program{[]string{path}, ps.programs}, name: "the policy program"}
}

// TestProgramOutputIsBounded: what a program writes beyond the bounds is read
// and dropped, however much it is; a reason is cut.
func TestProgramOutputIsBounded(t *testing.T) {
	p := programOf(t, "head -c 300000000 /dev/zero; echo >&2 no")
	_, err := p.askPre(t.Context(), PreRequest{Name: List})
	if err == nil || !strings.Contains(err.Error(), "it wrote more than 4194304 bytes") {
		t.Errorf("an endless answer: %v", err)
	}
	if _, err := os.Stat("/proc/self/status"); err == nil {
		if peak := peakRSS(t); peak > 150<<20 {
			t.Errorf("300 MB of a program's output made %d MiB of us", peak>>20)
		}
	}
	p = programOf(t, "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 2")
	answer, err := p.askPre(t.Context(), PreRequest{Name: List})
	if err != nil || answer.Decision != decisionDeny || len(answer.Reason) != maxReason {
		t.Errorf("a long reason on stderr: %d bytes, %v", len(answer.Reason), err)
	}
	long := strings.Repeat("é", maxReason)
	p.Policy = answers{pre: func(PreRequest) (PreAnswer, error) { return PreAnswer{Decision: "deny", Reason: long}, nil }}
	if answer, err := p.askPre(t.Context(), PreRequest{}); err != nil || answer.Reason != long[:maxReason] {
		t.Errorf("a long reason in JSON: %d bytes, %v", len(answer.Reason), err)
	}
	p.Policy = answers{pre: func(PreRequest) (PreAnswer, error) { return PreAnswer{}, &PolicyError{Message: long} }}
	var own *PolicyError
	if _, err := p.askPre(t.Context(), PreRequest{}); !errors.As(err, &own) || own.Message != long[:maxReason] {
		t.Errorf("a long error: %v", len(own.Message))
	}
}

// TestProgramOfTheDocs runs the program that docs/config.md shows, and what it warns of.
func TestProgramOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```python\n")
	text, rest, found := strings.Cut(rest, "```\n")
	_, rest, _ = strings.Cut(rest, "```toml\n")
	file, _, also := strings.Cut(rest, "```\n")
	if !found || !also {
		t.Fatal("docs/config.md shows no program and the table that names it")
	}
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if settings, _, err := config.Load(path); err != nil || len(settings.Policies) != 1 {
		t.Errorf("the table that the page shows: %v", err)
	}
	p := programOf(t, "")
	p.Policy = program{[]string{"python3", "-c", text}, p.Policy.(program).places}
	for command, want := range map[string]PreAnswer{
		`{"command":"make"}`:           {Decision: decisionAllow},
		`{"command":"make; git push"}`: {Decision: decisionDeny, Reason: "pushing is done by people"},
		`{"task_id":"bash-1"}`:         {Decision: decisionAllow},
	} {
		got, err := p.askPre(t.Context(), PreRequest{Owner: "o-1", Scope: "/", Name: Start, Arguments: []byte(command)})
		if err != nil || got.Decision != want.Decision || got.Reason != want.Reason {
			t.Errorf("%s: %+v, %v, want %+v", command, got, err, want)
		}
	}
	if got, err := programOf(t, "exit 0").askPre(t.Context(), PreRequest{}); err == nil {
		t.Errorf("a program that says nothing: %+v, and the page says that it denies", got)
	}
}

// peakRSS is the most memory that this process has had, in bytes.
func peakRSS(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// TestProgramLeavesAChild: an answer counts though a child of the program
// holds its pipes, and the child does not stay, pipes or not.
func TestProgramLeavesAChild(t *testing.T) {
	for name, redirect := range map[string]string{"with its pipes": "", "without": ">/dev/null 2>&1 </dev/null"} {
		t.Run(name, func(t *testing.T) {
			left := filepath.Join(t.TempDir(), "pid")
			p := programOf(t, "sleep 1000 "+redirect+" &\necho $! > "+left+"\necho '{\"decision\":\"allow\"}'\n")
			answer, err := p.askPre(context.Background(), PreRequest{Name: List})
			if err != nil || answer.Decision != decisionAllow {
				t.Errorf("got %+v, %v", answer, err)
			}
			text, err := os.ReadFile(left)
			if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(30 * time.Second)
			for alive(pid) {
				if time.Now().After(deadline) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
					t.Fatalf("process %d of the program lives on", pid)
				}
			}
		})
	}
}

// alive tells a process from one that is gone or waits for its parent to look.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !os.IsNotExist(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}
