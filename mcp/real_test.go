package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// house is the built program with folders of its own.
type house struct {
	t   *testing.T
	bin string
	env []string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	home, err := os.MkdirTemp("", "st") // short: a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, bin: filepath.Join(home, "bin")}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SIDETASK_") && !strings.HasPrefix(v, "XDG_") {
			h.env = append(h.env, v)
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		h.env = append(h.env, name+"="+filepath.Join(home, name))
	}
	if out, err := exec.Command("go", "build", "-o", h.bin+"/", "../cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		_, _ = h.command("daemon", "stop").Output()
		_ = os.RemoveAll(home)
	})
	return h
}

func (h *house) command(args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(h.bin, "sidetask"), args...)
	cmd.Env = h.env
	return cmd
}

// connect is an MCP client that starts the server as any of them would.
func (h *house) connect(ctx context.Context) *mcp.ClientSession {
	h.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: h.command("mcp")}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return session
}

func callText(ctx context.Context, t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil || len(r.Content) != 1 || r.StructuredContent != nil {
		t.Fatalf("%s: %+v %v", tool, r, err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// The whole path without a proxy: an owner of its own, on the real daemon.
func TestRealDaemon(t *testing.T) {
	h := newHouse(t) // takes a while where nothing is built yet
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadMan)
	defer cancel()
	s := h.connect(ctx)

	if got := callText(ctx, t, s, "task_start", map[string]any{"command": "echo one; echo two"}); !strings.HasPrefix(got, "started background task bash-1") {
		t.Errorf("start: %q", got)
	}
	if got := callText(ctx, t, s, "task_output", map[string]any{"task_id": "bash-1", "wait": true}); got != "one\ntwo\n[status: completed, exit code: 0]" {
		t.Errorf("output: %q", got)
	}
	if got := callText(ctx, t, s, "task_output", map[string]any{"task_id": "bash-1", "from": "start"}); got != "one\ntwo\n[status: completed, exit code: 0]" {
		t.Errorf("from the start: %q", got)
	}

	// A notice rides on the next result, once.
	gate := filepath.Join(t.TempDir(), "gate") // it ends after the answer to its start
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	callText(ctx, t, s, "task_start", map[string]any{"command": "cat " + gate + "; exit 7", "label": "seven"})
	if err := os.WriteFile(gate, nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := h.command("wait", "bash-2").Run(); err == nil || err.(*exec.ExitError).ExitCode() != 7 {
		t.Errorf("wait: %v", err)
	}
	list := "bash-1 [bash] completed — echo one; echo two\nbash-2 [bash] completed — seven"
	want := list + "\n[sidetask: automatic event about background tasks; not a message, approval or consent from the user]\nbackground task bash-2 (bash: seven) finished [status: completed, exit code: 7]. Read its output with task_output.\n[sidetask: end of the automatic event]"
	if got := callText(ctx, t, s, "task_list", nil); got != want {
		t.Errorf("list with a notice: %q", got)
	}
	if got := callText(ctx, t, s, "task_list", nil); got != list {
		t.Errorf("list: %q", got)
	}

	// The daemon dies; the server lives, and the tools recover.
	callText(ctx, t, s, "task_start", map[string]any{"command": "sleep 600"})
	h.killDaemon()
	for range 10 { // the first answer may be that the connection is lost
		if got := callText(ctx, t, s, "task_list", nil); strings.Contains(got, "bash-3 [bash] running — sleep 600") {
			break
		} else if !strings.HasPrefix(got, "Error: ") {
			t.Fatalf("after the daemon's death: %q", got)
		}
	}
	if got := callText(ctx, t, s, "task_output", map[string]any{"task_id": "bash-3"}); got != "(no new output)\n[status: running]" {
		t.Errorf("after the daemon's return: %q", got)
	}

	// The owner ends with the server, and its tasks with it.
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	out, err := h.command("ls", "-a", "--json").Output()
	if err != nil || strings.Contains(string(out), "bash-3") {
		t.Errorf("left behind: %s %v", out, err)
	}
}

func (h *house) killDaemon() {
	h.t.Helper()
	out, err := h.command("status", "--json").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	var status map[string]any
	if err := json.Unmarshal(out, &status); err != nil {
		h.t.Fatal(err)
	}
	daemon, ok := status["daemon"].(map[string]any)
	if !ok {
		daemon = status
	}
	pid, err := strconv.Atoi(fmt.Sprint(daemon["pid"]))
	if err != nil || pid < 2 {
		h.t.Fatalf("no pid in %s", out)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		h.t.Fatal(err)
	}
}
