package acp

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// An answer to a prompt of ours that is too long to be kept goes nowhere, wherever
// its id stands, and ends the turn as any other (ACP.md §1, §4). No more of it is in
// memory than the longest line that is kept whole.
func TestLongAnswerToUs(t *testing.T) {
	for _, ends := range [][2]string{
		{`{"jsonrpc":"2.0","id":"own-1","result":{"stopReason":"end_turn","_meta":{"x":"`, `"}}}`},
		{`{"jsonrpc":"2.0","result":{"stopReason":"end_turn","_meta":{"x":"`, `"}},"id":"own-1"}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, false)
			step := b.step
			step(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
				`A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, "wait 3s")
			if got := step("D> notice background task bash-1 finished"); !strings.Contains(got, "own-1") {
				t.Fatalf("no prompt of ours: %s", got)
			}
			before, peak := inUse(), 0
			step("A>> " + ends[0])
			block := strings.Repeat("y", 4<<20)
			for range wire.MaxLine>>22 + 8 {
				_, _ = io.WriteString(b.agent, block)
				synctest.Wait()
				peak = max(peak, inUse()-before)
			}
			if got := step("A> " + ends[1]); strings.Contains(got, "e< ") || !strings.Contains(got, `inbox/ack {"token":"TOKEN1","lease":"l-1"}`) {
				t.Errorf("its end: %.300s", got)
			}
			if limit := wire.MaxLine + 16<<20; peak > limit {
				t.Errorf("%d MiB in memory, want at most %d", peak>>20, limit>>20)
			}
			if got := step("D> notice background task bash-2 finished"); !strings.Contains(got, "own-2") {
				t.Errorf("the session is not at rest: %s", got)
			}
			b.end()
		})
	}
}

// Only what is ours is kept from the editor. Where an id comes last, that is known
// as long as nobody else waits for an answer.
func TestLongAnswerIsNotTakenForOurs(t *testing.T) {
	text := strings.Repeat("x", 2000)
	for _, c := range []struct {
		name   string
		open   bool // a request of the editor
		pieces []string
		ours   bool
	}{
		{"ours", true, []string{`{"id":"own1","result":{"text":"`, text, `"}}` + "\n"}, true},
		{"ours, all at hand", true, []string{`{"result":{},"id":"own1"}` + "\n"}, true},
		{"ours, its id last", false, []string{`{"result":{"text":"`, text, `"},"id":"own1"}` + "\n"}, true},
		{"an error of ours, its id last", false, []string{`{"error":{"message":"`, text, `"},"id":"own1"}` + "\n"}, true},
		{"ours, torn", true, []string{`{"id":"own1","result":{"text":"`, text}, true},
		{"the editor's", true, []string{`{"id":5,"result":{"text":"`, text, `"}}` + "\n"}, false},
		{"the editor's, its id last", true, []string{`{"result":{"text":"`, text, `"},"id":5}` + "\n"}, false},
		{"a request with an id like ours", false, []string{`{"id":"own1","method":"x","params":{"text":"`, text, `"}}` + "\n"}, false},
		{"a notification", false, []string{`{"method":"x","params":{"text":"`, text, `"}}` + "\n"}, false},
		{"a notification, its method last", false, []string{`{"params":{"text":"`, text, `"},"method":"x"}` + "\n"}, false},
	} {
		p := newProxy(Options{})
		p.fromAgent, p.ours.prefix = &inlet{}, "own"
		p.ours.ask(ownPrompt{session: &session{machine: turn.New(turn.Settings{})}})
		if c.open {
			p.requests["5"] = &request{id: []byte("5"), method: "x"}
		}
		for i, s := range c.pieces {
			p.fromAgent.rest = append(p.fromAgent.rest, wire.Line{Bytes: []byte(s), Part: true, More: i < len(c.pieces)-1})
			if i > 0 || len(c.pieces) == 1 {
				p.resumeAgent()
			}
		}
		want := strings.Join(c.pieces, "")
		if c.ours {
			want = ""
		}
		if got := queued(p.editor); got != want {
			t.Errorf("%s: the editor got %.100q, want %.100q", c.name, got, want)
		}
		if n := len(p.ours.open); n != 0 && c.ours && c.name != "ours, torn" {
			t.Errorf("%s: our prompt is not answered", c.name)
		}
	}
}
