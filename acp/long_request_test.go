package acp

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// A prompt that is too long to be kept is a turn as any other: a bell waits for its
// end, its answer is held for the notices, and the user has spoken (ACP.md §1, §4).
func TestLongPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, false)
		step := b.step
		step(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
			`A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, "wait 3s")
		const head, tail = `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"image","data":"`, `"}]}}` + "\n"
		_, _ = io.WriteString(b.editor, head)
		block := strings.Repeat("y", 1<<20)
		for range wire.MaxLine>>20 + 1 {
			_, _ = io.WriteString(b.editor, block)
		}
		synctest.Wait()
		begun := b.toAg.take()
		got := step("D> notice background task bash-1 finished")
		if !strings.HasPrefix(begun, head) || strings.Contains(got, `"wake"`) {
			t.Errorf("in the middle of it: the agent has %.300q; %s", begun, got)
		}
		_, _ = io.WriteString(b.editor, tail)
		synctest.Wait()
		if n := len(begun) + len(b.toAg.take()); n != len(head)+len(tail)+wire.MaxLine+1<<20 {
			t.Errorf("the agent got %d bytes", n)
		}
		got = step(`A> {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`)
		if !strings.Contains(got, `inbox/claim {"token":"TOKEN1","reason":"turn-end"}`) || !strings.Contains(got, "own-1") || strings.Contains(got, "e< ") {
			t.Errorf("its end: %s", got)
		}
		got = step(`A> {"jsonrpc":"2.0","id":"own-1","result":{"stopReason":"end_turn"}}`)
		if !strings.Contains(got, `e< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`) {
			t.Errorf("its answer: %s", got)
		}
		b.end()
	})
}

// parts gives a line as its reader does when it is too long to be kept: what was
// held until then at once, then what follows.
func (p *proxy) parts(pieces ...string) {
	for i, s := range pieces {
		p.fromEditor.rest = append(p.fromEditor.rest, wire.Line{Bytes: []byte(s), Part: true, More: i < len(pieces)-1})
		if i > 0 {
			p.resumeEditor()
		}
	}
}

// A request that is too long to be kept is in the books all the same: a prompt of
// it is a turn, one that would go beside a prompt of ours is refused, and each is
// answered when the agent has ended (ACP.md §1, §4).
func TestLongRequest(t *testing.T) {
	text := strings.Repeat("x", 2000)
	for _, c := range []struct {
		name   string
		wake   bool
		pieces []string
		open   int // requests in the books
		busy   bool
		agent  string // what it has got
		editor string
	}{
		{"a prompt", false, []string{`{"id":5,"method":"session/prompt","params":{"sessionId":"s","prompt":["`, text, `"]}}` + "\n"}, 1, true, text, ""},
		{"its id comes last", false, []string{`{"params":{"prompt":["`, text, `"],"sessionId":"s"},"method":"session/prompt","id":5}` + "\n"}, 1, true, text, ""},
		{"a prompt beside a wake", true, []string{`{"id":5,"method":"session/prompt","params":{"sessionId":"s","prompt":["`, text, `"]}}` + "\n"}, 0, true, "", `{"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"sidetask: a prompt over 64 MiB cannot wait`},
		{"of another session", true, []string{`{"id":5,"method":"session/prompt","params":{"sessionId":"t","prompt":["`, text, `"]}}` + "\n"}, 1, true, text, ""},
		{"another request", false, []string{`{"id":5,"method":"_x","params":{"text":"`, text, `"}}` + "\n"}, 1, false, text, ""},
		{"a notification", false, []string{`{"method":"_x","params":{"text":"`, text, `"}}` + "\n"}, 0, false, text, ""},
		{"an answer", false, []string{`{"id":5,"result":{"text":"`, text, `"}}` + "\n"}, 0, false, text, ""},
		{"no message", false, []string{text, text, "\n"}, 0, false, text, ""},
	} {
		trace := &sink{}
		p := newProxy(Options{Trace: trace})
		p.fromEditor = &inlet{}
		s := &session{id: "s", machine: turn.New(turn.Settings{Wakes: true})}
		p.sessions.put(s)
		if c.wake {
			for _, e := range []turn.Event{turn.Ready{}, turn.Bell{}, turn.Claimed{ID: 1, Notices: []string{"n"}, Lease: "l"}} {
				for _, a := range s.machine.Step(e) {
					if a, ok := a.(turn.Busy); ok {
						s.busy = a.Busy
					}
				}
			}
		}
		p.parts(c.pieces...)
		if len(p.requests) != c.open || s.busy != c.busy {
			t.Errorf("%s: %d requests are open, busy %v", c.name, len(p.requests), s.busy)
		}
		agent, editor := queued(p.agent), queued(p.editor)
		if want := strings.Join(c.pieces, ""); c.agent != "" && agent != want || c.agent == "" && agent != "" {
			t.Errorf("%s: the agent got %.100q", c.name, agent)
		}
		if !strings.HasPrefix(editor, c.editor) || (editor == "") != (c.editor == "") {
			t.Errorf("%s: the editor got %q", c.name, editor)
		}
		if got := trace.take(); strings.Count(got, "\n") != 1+strings.Count(editor, "\n") || !strings.Contains(got, `"size":`) {
			t.Errorf("%s: traced %s", c.name, got)
		}
		p.parts(`{"id":6,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`, "\n")
		if n := len(p.requests) - c.open; n != 1 && !c.wake {
			t.Errorf("%s: the next one is not known", c.name)
		}
	}
}

// A message of a conductor that is too long to be wrapped is answered, and an answer
// that is goes on as an error.
func TestLongInChain(t *testing.T) {
	p := newProxy(Options{})
	p.fromEditor, p.chain, p.stderr = &inlet{}, newChain(), &noise{more: make(chan struct{}, 1)}
	p.parts(`{"id":5,"method":"proxy/successor","params":{"method":"x","params":{"text":"`, "x", `"}}}`+"\n")
	if got := queued(p.editor); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":5,"error":{"code":-32603`) {
		t.Errorf("the conductor got %q", got)
	}
	p.editor.next = nil
	p.chain.began, p.chain.down["6"] = true, true
	p.requests["6"] = &request{id: []byte("6"), method: "x"}
	p.parts(`{"id":6,"result":{"text":"`, "x", `"}}`+"\n")
	if got := queued(p.editor); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":6,"error":{"code":-32603`) || len(p.requests) > 0 {
		t.Errorf("the conductor got %q, and %d requests are open", got, len(p.requests))
	}
}
