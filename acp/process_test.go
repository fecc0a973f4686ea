//go:build unix

package acp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadMan bounds what a test of real processes waits for; nothing depends on it.
const deadMan = 2 * time.Minute

// TestHelperAgent is no test: it is the agent of the tests below, in a process
// of its own.
func TestHelperAgent(t *testing.T) {
	how := os.Getenv("ACP_TEST_AGENT")
	if how == "" {
		return
	}
	switch how {
	case "dies":
		fmt.Fprintln(os.Stderr, "first line")
		fmt.Fprintln(os.Stderr, "no API key")
		os.Exit(7)
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(5)
	case "chatters":
		for range 5000 {
			fmt.Fprintln(os.Stderr, "debug: a line of one hundred bytes", strings.Repeat("z", 66))
		}
		_, _ = io.Copy(os.Stdout, os.Stdin)
		os.Exit(6)
	case "leaves": // something in a session of its own, with its stdout, at the end of its stdin
		pid, err := spawn([]string{"setsid", "sleep", "600"}, os.Stdout)
		if err != nil {
			os.Exit(9)
		}
		fmt.Println(pid)
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	case "stub":
		stub()
	case "half":
		fmt.Print(`{"jsonrpc":"2.0","meth`)
		os.Exit(0)
	case "stays": // ignores the end of its stdin, and SIGTERM
		ignore := make(chan os.Signal, 8)
		notify(ignore)
		for _, args := range [][]string{{"sleep", "600"}, {"setsid", "sleep", "600"}} {
			pid, err := spawn(args, nil)
			if err != nil {
				os.Exit(9)
			}
			fmt.Printf(`{"jsonrpc":"2.0","method":"pid","params":%d}`+"\n", pid)
		}
		select {}
	}
	os.Exit(0)
}

// harness runs the proxy with a real agent.
type harness struct {
	in    *io.PipeWriter
	lines chan string
	errs  *sink
	done  chan result
}

type result struct {
	exit int
	err  error
}

func startReal(t *testing.T, ctx context.Context, agent ...string) *harness {
	errs := &sink{}
	h := startRealWith(t, ctx, errs, agent...)
	h.errs = errs
	return h
}

func startRealWith(_ *testing.T, ctx context.Context, stderr io.Writer, agent ...string) *harness {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h := &harness{in: inW, lines: make(chan string, 100), errs: &sink{}, done: make(chan result, 1)}
	go func() {
		exit, err := Run(ctx, Options{In: inR, Out: outW, Err: stderr, Agent: agent, Executable: "/x", Socket: "/y", Connect: func(Hooks) Daemon { panic("no session") }})
		_ = outW.Close()
		_ = inR.Close()
		h.done <- result{exit, err}
	}()
	go func() {
		defer close(h.lines)
		for s := bufio.NewScanner(outR); s.Scan(); {
			h.lines <- s.Text()
		}
	}()
	return h
}

func helper(t *testing.T, how string) []string {
	t.Setenv("ACP_TEST_AGENT", how)
	return []string{os.Args[0], "-test.run=^TestHelperAgent$"}
}

func (h *harness) line(t *testing.T) string {
	t.Helper()
	select {
	case l, ok := <-h.lines:
		if !ok {
			t.Fatalf("the proxy ended; stderr: %s", h.errs.take())
		}
		return l
	case <-time.After(deadMan):
		t.Fatal("no line")
		return ""
	}
}

func (h *harness) end(t *testing.T) result {
	t.Helper()
	select {
	case r := <-h.done:
		return r
	case <-time.After(deadMan):
		t.Fatal("the proxy does not end")
		return result{}
	}
}

const initialize = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`

// An agent that dies at once: the editor's request is answered with its status
// and its last word on stderr, and the status is passed on (ACP.md §1).
func TestAgentDiesAtOnce(t *testing.T) {
	h := startReal(t, t.Context(), helper(t, "dies")...)
	go func() { _, _ = io.WriteString(h.in, initialize+"\n") }()
	got := h.line(t)
	if !strings.Contains(got, `"id":"i"`) || !strings.Contains(got, "exit status 7") || !strings.Contains(got, "no API key") {
		t.Errorf("answer: %s", got)
	}
	if r := h.end(t); r.exit != 7 || r.err != nil {
		t.Errorf("exit %d, %v, want 7", r.exit, r.err)
	}
	if got := h.errs.take(); got != "first line\nno API key\n" {
		t.Errorf("stderr: %q", got)
	}
}

// A program that is no agent, but of the name of one: it is said, to the editor, too,
// which agent was meant; not when it was an agent of that name.
func TestAgentSpeaksNoACP(t *testing.T) {
	for _, c := range []struct {
		name, script, want string
	}{
		{"claude", "echo no prompt >&2; exit 1", "claude itself speaks no ACP; run claude-agent-acp in its place, which does"},
		{"codex", "exit 0", "codex itself speaks no ACP; run codex-acp in its place, which does"},
		{"claude", `read line; echo '{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":1}}'; exit 1`, ""},
		{"other", "exit 1", ""},
	} {
		program := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		h := startReal(t, t.Context(), program)
		go func() { _, _ = io.WriteString(h.in, initialize+"\n") }()
		answer := h.line(t)
		h.end(t)
		stderr := h.errs.take()
		if c.want == "" && strings.Contains(answer+stderr, "speaks no ACP") {
			t.Errorf("%s (%s): answer %s, stderr %q", c.name, c.script, answer, stderr)
		}
		if !strings.Contains(answer, c.want) || !strings.Contains(stderr, c.want) {
			t.Errorf("%s (%s): answer %s, stderr %q, want %q in both", c.name, c.script, answer, stderr, c.want)
		}
	}
}

// A command that is not there: an error that says so, to the editor, too.
func TestAgentCommandMissing(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, want string }{
		{"no-such-agent-here", "no command"},
		{"/no/such/agent", "does not exist"},
		{plain, "not executable"},
	} {
		h := startReal(t, t.Context(), c.command)
		go func() { _, _ = io.WriteString(h.in, initialize+"\n") }()
		if got := h.line(t); !strings.Contains(got, c.want) || !strings.Contains(got, `"id":"i"`) {
			t.Errorf("%s: answer %s", c.command, got)
		}
		if r := h.end(t); r.exit != 127 || r.err == nil || !strings.Contains(r.err.Error(), c.want) {
			t.Errorf("%s: exit %d, %v", c.command, r.exit, r.err)
		}
	}
}

// What the editor said last reaches the agent, what the agent says last reaches
// the editor, and its own exit status is passed on.
func TestEditorCloses(t *testing.T) {
	h := startReal(t, t.Context(), helper(t, "echo")...)
	go func() {
		_, _ = io.WriteString(h.in, `{"jsonrpc":"2.0","method":"last","params":{"n":1.0}}`) // not even a newline
		_ = h.in.Close()
	}()
	if got := h.line(t); got != `{"jsonrpc":"2.0","method":"last","params":{"n":1.0}}` {
		t.Errorf("got %s", got)
	}
	if r := h.end(t); r.exit != 5 {
		t.Errorf("exit %d, want 5", r.exit)
	}
}

// A stderr that nobody reads holds neither the agent nor our end up, whoever
// writes it (ACP.md §1, §7).
func TestAgentStderrUnread(t *testing.T) {
	unread, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unread.Close(), stderr.Close() }()
	h := startRealWith(t, t.Context(), stderr, helper(t, "chatters")...)
	go func() {
		_, _ = io.WriteString(h.in, "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n")
		_ = h.in.Close()
	}()
	if got := h.line(t); !strings.Contains(got, `"method":"x"`) {
		t.Errorf("got %s", got)
	}
	if r := h.end(t); r.exit != 6 {
		t.Errorf("exit %d, want 6", r.exit)
	}
}

// Half a line of a dying agent is no message.
func TestAgentDiesInLine(t *testing.T) {
	h := startReal(t, t.Context(), helper(t, "half")...)
	if r := h.end(t); r.exit != 0 {
		t.Errorf("exit %d", r.exit)
	}
	if l, ok := <-h.lines; ok {
		t.Errorf("the editor got %q", l)
	}
	if got := h.errs.take(); !strings.Contains(got, `{"jsonrpc":"2.0","meth`) {
		t.Errorf("stderr: %q", got)
	}
}

// An agent that does not end is ended with its whole tree, what left its process
// group included.
func TestAgentTreeEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := startReal(t, ctx, helper(t, "stays")...)
	var pids []int
	for range 2 {
		var pid int
		line := h.line(t)
		if _, err := fmt.Sscanf(line[strings.Index(line, "params\":")+8:], "%d", &pid); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		pids = append(pids, pid)
	}
	cancel() // as a SIGTERM does
	if r := h.end(t); r.exit != 128+int(syscall.SIGKILL) {
		t.Errorf("exit %d, want that of a SIGKILL", r.exit)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d still lives", pid)
		}
	}
}

// Who tells the proxy to end once more, or when the editor is gone already, waits
// for no grace: an agent that ignores the end of its stdin is ended at once, and
// never left behind.
func TestToldToEndAgain(t *testing.T) {
	for name, tell := range map[string]func(p *proxy, signals chan<- os.Signal, end func()){
		"two signals": func(_ *proxy, signals chan<- os.Signal, end func()) {
			end()
			signals <- syscall.SIGTERM
			signals <- syscall.SIGTERM
		},
		"the editor is gone": func(p *proxy, signals chan<- os.Signal, end func()) {
			p.editorClosed()
			end()
			signals <- syscall.SIGTERM
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, _ := io.Pipe()
			stderr := newNoise(io.Discard)
			defer stderr.end(deadMan)
			agent, err := startChild([]string{"sleep", "600"}, stderr)
			if err != nil {
				t.Fatal(err)
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			p := newProxy(Options{In: in, Out: io.Discard})
			p.stderr, p.life, p.background.ctx = stderr, agent, t.Context()
			p.settings.AgentGraceMs = (10 * deadMan).Milliseconds()
			signals := make(chan os.Signal, 2)
			finish := p.start()
			began := time.Now()
			tell(p, signals, end)
			over := time.AfterFunc(deadMan, func() { _ = agent.cmd.Process.Kill() })
			p.loop(ctx, signals)
			want := agent.code == 128+int(syscall.SIGTERM)
			if time.Since(began) >= killAfter { // it was not scheduled for that long
				want = want || agent.code == 128+int(syscall.SIGKILL)
			}
			if !over.Stop() || !want {
				t.Errorf("the agent was ended with exit status %d, want that of a SIGTERM", agent.code)
			}
			close(p.ended)
			_ = in.Close()
			p.background.work.Wait()
			finish()
		})
	}
}
