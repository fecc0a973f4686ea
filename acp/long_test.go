package acp

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"sidetask/acp/internal/wire"
	"sidetask/render"
)

// An answer that is too long to be kept goes through whole, once, and closes its
// request: the session is at rest, what could not be told before it is told after,
// and nothing is answered again (ACP.md §1).
func TestLongAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, false)
		step := b.step
		step(`E> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`,
			`A> {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`,
			`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
			`A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, "wait 3s",
			`E> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`,
			"D> notice background task bash-1 finished")
		const head, tail = `{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","_meta":{"x":"`, `"}}}` + "\n"
		_, _ = io.WriteString(b.agent, head)
		block := strings.Repeat("y", 1<<20)
		for range wire.MaxLine>>20 + 1 {
			_, _ = io.WriteString(b.agent, block)
		}
		_, _ = io.WriteString(b.agent, tail)
		synctest.Wait()
		got := b.toEd.take()
		if want := len(head) + len(tail) + wire.MaxLine + 1<<20; len(got) != want || !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) {
			t.Errorf("the editor got %d bytes, want %d", len(got), want)
		}
		if got := step(); !strings.Contains(got, `"reason":"wake"`) || !strings.Contains(got, "own-1") {
			t.Errorf("its notice does not come after it: %s", got)
		}
		step(`A> {"jsonrpc":"2.0","id":"own-1","result":{"stopReason":"end_turn"}}`)
		if got := step("D> notice background task bash-2 finished"); !strings.Contains(got, `"reason":"wake"`) || !strings.Contains(got, "own-2") {
			t.Errorf("the session is not at rest: %s", got)
		}
		if got := step("agent-ends"); strings.Contains(got, "e< ") {
			t.Errorf("answered again: %s", got)
		}
		b.end()
	})
}

func queued(o *outlet) (s string) {
	for _, p := range o.next {
		s += string(p.Bytes)
	}
	return s
}

// Of a long line only the beginnings of its strings are at hand, but where our
// frame may stand, or the arguments of our tool, all of it counts (ACP.md §4, §5, §2).
func TestLongLineOfOurs(t *testing.T) {
	long := strings.Repeat("the-words-of-the-user-", 20000)
	frame := string(wire.Quote(render.Frame([]string{"background task bash-1 finished"})))
	frame = frame[1 : len(frame)-1]
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, false)
		step := b.step
		update := func(session, body string) string {
			return step(`A> {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":{` + body + `}}}`)
		}
		step(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
			`A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`,
			`E> {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"t","cwd":"/w","mcpServers":[]}}`)
		chunk := func(text string) string {
			return `"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"` + text + `"}`
		}
		for _, text := range []string{long + frame, frame + long, frame + `\n` + long + frame + long} {
			got := update("t", chunk(text))
			if want := strings.ReplaceAll(strings.ReplaceAll(text, frame+`\n`, ""), frame, ""); !strings.Contains(got, `"`+want+`"`) {
				t.Errorf("a frame is left in %d bytes, or more is gone: got %d", len(text), len(got))
			}
		}
		got := update("t", chunk(long)+`,"_meta":{"x":"`+long+`"}`) // nothing of ours
		if !strings.Contains(got, chunk(long)) {
			t.Errorf("the user's words: %.300q", got)
		}
		step(`A> {"jsonrpc":"2.0","id":2,"result":{}}`, "wait 3s")
		call := `"rawInput":{"command":"make\n` + long + `"}`
		got = update("t", `"toolCallId":"c","status":"in_progress","_meta":{"x":"`+long+`"},"title":"sidetask_task_start",`+call+`,"sessionUpdate":"tool_call"`)
		if !strings.Contains(got, `"title":"make…"`) || !strings.Contains(got, `"kind":"execute"`) || !strings.Contains(got, call) {
			t.Errorf("the card: %.300q", got)
		}
		got = update("t", `"toolCallId":"c","status":"completed","rawOutput":"`+long+`","sessionUpdate":"tool_call_update"`)
		if !strings.Contains(got, `"title":"make…"`) || !strings.Contains(got, long) {
			t.Errorf("the card again: %.300q", got)
		}
		other := `"toolCallId":"d","title":"edit","rawOutput":"` + long + `","sessionUpdate":"tool_call"`
		if got := update("t", other); !strings.Contains(got, "{"+other+"}") {
			t.Errorf("another's card: %.300q", got)
		}
		update("t", `"toolCallId":"e","status":"in_progress","title":"sidetask_task_start",`+call+`,"sessionUpdate":"tool_call"`)
		got = step(`D> resolve s task_start {"command":"make\n` + long + `"} {}`)
		if !strings.Contains(got, `owner/resolve: {"owner":"o-2"}`) {
			t.Errorf("the call is not known by its card: %.100q", got)
		}
		got = step(`A> {"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","options":[],"toolCall":{"toolCallId":"mcp_sidetask_task_start__1","title":"x","status":"pending","content":[{"type":"content","content":{"type":"text","text":"{\"command\":\"make\\n` + long + `\"}"}}]}}}`)
		if !strings.Contains(got, `"title":"make…"`) || strings.Contains(got, long) {
			t.Errorf("the permission request: %.300q", got)
		}
		b.end()
	})
}

// An editor that goes away in the middle of a line: what it said before gets to
// the agent, the half line does not become a line (ACP.md §1, §7).
func TestEditorGoesInLine(t *testing.T) {
	const whole = `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[1,2]}}` + "\n"
	for n := 1; n < len(whole)-1; n++ {
		half := whole[:n]
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, false)
			_, _ = io.WriteString(b.editor, whole+half)
			_ = b.editor.Close()
			synctest.Wait()
			if got := b.toAg.take(); got != whole {
				t.Errorf("the agent got %q after %q", got, half)
			}
			if got := b.er.take(); !strings.Contains(got, "in the middle of a message: its "+strconv.Itoa(n)+" bytes were dropped") {
				t.Errorf("stderr: %q", got)
			}
			b.end()
		})
	}
}

// Of a line that is too long to be kept the agent has got a part already: it stays
// a part, until something that must follow.
func TestLongLineTorn(t *testing.T) {
	o := newOutlet(wire.NewGaps("x"))
	text := func() string { return queued(o) }
	o.piece(wire.Line{Bytes: []byte("{half"), Part: true, More: true})
	o.piece(wire.Line{Part: true})
	if got := text(); got != "{half" {
		t.Errorf("got %q, want no newline", got)
	}
	o.line([]byte("{}\n"))
	if got := text(); got != "{half\n{}\n" || o.size != len(got) {
		t.Errorf("got %q, size %d", got, o.size)
	}
}

// A line of ours that comes while a long one is passed on goes behind it.
func TestLongLineIsNotCut(t *testing.T) {
	for _, last := range []string{"end}\n", "end"} {
		o := newOutlet(wire.NewGaps("x"))
		o.piece(wire.Line{Bytes: []byte("{long "), Part: true, More: true})
		o.line([]byte("{}\n"))
		o.piece(wire.Line{Bytes: []byte(last), Part: true})
		o.line([]byte("[]\n"))
		want := "{long " + strings.TrimSuffix(last, "\n") + "\n{}\n[]\n"
		if got := queued(o); got != want || o.size != len(got) {
			t.Errorf("got %q, size %d, want %q", got, o.size, want)
		}
	}
}

// Lines that wait behind a long one keep nobody from saying the rest of that.
func TestLongLineIsNotHeldUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, false)
		step := func(lines ...string) {
			for _, l := range lines {
				b.input(l)
				synctest.Wait()
			}
			b.output()
		}
		prompt := `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":["` + strings.Repeat("x", queueLimit) + `"]}}`
		step(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
			`A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, "wait 3s",
			"D> notice background task bash-1 finished", "E> "+prompt)
		_, _ = io.WriteString(b.editor, `{"jsonrpc":"2.0","method":"_x","params":{"text":"`)
		block := strings.Repeat("y", 1<<20)
		for range wire.MaxLine>>20 + 1 {
			_, _ = io.WriteString(b.editor, block)
		}
		step(`A> {"jsonrpc":"2.0","id":"own-1","result":{"stopReason":"end_turn"}}`) // the prompt may go
		_, _ = io.WriteString(b.editor, block+`"}}`+"\n")
		synctest.Wait()
		if got := b.toAg.take(); !strings.HasSuffix(got, `"}}`+"\n"+prompt+"\n") {
			t.Errorf("the agent got %d bytes, and at their end %q", len(got), got[max(0, len(got)-100):])
		}
		b.end()
	})
}
