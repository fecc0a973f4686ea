//go:build unix

package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// stub is an agent of one session, s, that ends each turn at once and tells the
// editor what it got.
func stub() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Printf(`{"jsonrpc":"2.0","method":"_got","params":%s}`+"\n", in.Text())
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		result := `{}`
		switch m.Method {
		case methodNew:
			result = `{"sessionId":"s"}`
		case methodPrompt:
			result = `{"stopReason":"end_turn"}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// gate starts a task of an owner that ends when the result is called.
func (h *house) gate(ctx context.Context, t *testing.T, token, label string) (open func()) {
	t.Helper()
	gate := filepath.Join(filepath.Dir(h.bin), label)
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	c := h.dial(ctx, t)
	defer func() { _ = c.Close() }()
	start := rpc.TaskStart{As: rpc.As{Token: token}, Command: "cat " + gate, Label: label}
	if err := c.Call(ctx, rpc.MethodTaskStart, start, nil); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.WriteFile(gate, nil, 0); err != nil {
			t.Error(err)
		}
	}
}

// editor is one that talks to a proxy with the stub.
type editor struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	cmd   *exec.Cmd
	asked int
	token string // the newest that its agent got
}

func (h *house) editor(ctx context.Context, t *testing.T) *editor {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(h.bin, "sidetask"), "acp", "--", os.Args[0], "-test.run=^TestHelperAgent$")
	cmd.Env = append(h.env[:len(h.env):len(h.env)], "ACP_TEST_AGENT=stub")
	in, err := cmd.StdinPipe()
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
	e := &editor{t: t, in: in, lines: bufio.NewScanner(out), cmd: cmd}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	e.ask(methodInitialize, `"protocolVersion":1`)
	return e
}

var givenToken = regexp.MustCompile(`"SIDETASK_TOKEN","value":"([0-9a-f]+)"`)

// until reads to a line with that text, and gives the prompts that the agent got
// before and in it.
func (e *editor) until(text string) (prompts []string) {
	e.t.Helper()
	for e.lines.Scan() {
		line := e.lines.Text()
		if m := givenToken.FindStringSubmatch(line); m != nil {
			e.token = m[1]
		}
		if strings.Contains(line, `"_got"`) && strings.Contains(line, methodPrompt) {
			prompts = append(prompts, line)
		}
		if strings.Contains(line, text) {
			return prompts
		}
	}
	e.t.Fatalf("the proxy ended before %q", text)
	return nil
}

// ask makes a request and waits for its answer.
func (e *editor) ask(method, params string) (prompts []string) {
	e.t.Helper()
	e.asked++
	if _, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":%d,"method":"%s","params":{%s}}`+"\n", e.asked, method, params); err != nil {
		e.t.Fatal(err)
	}
	return e.until(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result"`, e.asked))
}

// One session of two proxies on a real daemon: the one that loads it has its tasks
// and is woken, the other goes quiet and its chat goes on, until it takes the
// session back. A daemon that is killed loses nothing of that (ACP.md §2, §4).
func TestRealDaemon(t *testing.T) {
	h := newHouse(t) // takes a while where nothing is built yet
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadMan)
	defer cancel()
	const opens, told = `"sessionId":"s","cwd":"/","mcpServers":[]`, `(bash: %s) finished [status: completed, exit code: 0]`
	first, second := h.editor(ctx, t), h.editor(ctx, t)
	first.ask(methodNew, `"cwd":"/","mcpServers":[]`)
	open := h.gate(ctx, t, first.token, "one")
	second.ask(methodLoad, opens)
	h.owns(ctx, t, second.token, "one")
	open()
	second.until(fmt.Sprintf(told, "one"))

	got := first.ask(methodPrompt, `"sessionId":"s","prompt":[{"type":"text","text":"hi"}]`)
	if len(got) != 1 || strings.Contains(got[0], "one") {
		t.Errorf("the first one's agent got %q", got)
	}
	first.ask(methodResume, opens)
	h.owns(ctx, t, first.token, "one")
	open = h.gate(ctx, t, first.token, "two")
	open()
	first.until(fmt.Sprintf(told, "two"))

	open = h.gate(ctx, t, first.token, "three")
	h.killDaemon(t)
	first.ask(methodPrompt, `"sessionId":"s","prompt":[{"type":"text","text":"hi"}]`) // no daemon: the chat goes on
	open()
	first.until(fmt.Sprintf(told, "three"))
}

// owns waits until a session is a proxy's: its editor may have the answer to the
// request for it before the daemon has been told. Each call is a look; nothing tells
// a client that waits.
func (h *house) owns(ctx context.Context, t *testing.T, token, label string) {
	t.Helper()
	c := h.dial(ctx, t)
	defer func() { _ = c.Close() }()
	for {
		var list rpc.TaskListResult
		err := c.Call(ctx, rpc.MethodTaskList, rpc.TaskList{As: rpc.As{Token: token}, All: true}, &list)
		if err != nil && !errors.Is(err, rpc.ErrOwnerGone) {
			t.Fatal(err)
		}
		if slices.ContainsFunc(list.Tasks, func(task rpc.Task) bool { return task.Label == label }) {
			return
		}
	}
}

func (h *house) dial(ctx context.Context, t *testing.T) *client.Client {
	t.Helper()
	c, err := client.Dial(ctx, client.Options{Socket: filepath.Join(filepath.Dir(h.bin), "XDG_RUNTIME_DIR", "sidetask", "sidetask.sock"), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (h *house) killDaemon(t *testing.T) {
	t.Helper()
	out, err := h.command("status", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var status struct{ PID int }
	if err := json.Unmarshal(out, &status); err != nil || status.PID < 2 {
		t.Fatalf("no pid in %s: %v", out, err)
	}
	if err := syscall.Kill(status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
