package acp

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// tally counts the lines that are written, by their beginning up to the mark.
type tally struct {
	mu    sync.Mutex // guards all below
	head  []byte     // of the line at hand
	lines map[string]int
}

const tallyMark = `,"result":{"stopReason":"end_turn"`

func (c *tally) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		c.head = append(c.head, line[:min(len(line), 100)]...)
		if rest = after; ended {
			head, _, _ := strings.Cut(string(c.head), tallyMark)
			c.lines[strings.TrimPrefix(head, `{"jsonrpc":"2.0","id":`)]++
			c.head = nil
		}
	}
	return len(b), nil
}

func (c *tally) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.lines)
}

// However many answers would wait for the end of turns of ours, and however often
// the agent answers, what waits is bounded: the rest goes on at once, and the
// notices come after it (ACP.md §4).
func TestHeldAnswersAreBounded(t *testing.T) {
	const sessions, size, room = 8, 24 << 20, 16 << 20
	text := strings.Repeat("x", size)
	synctest.Test(t, func(t *testing.T) {
		editor := &tally{lines: map[string]int{}}
		b := newBenchWith(t, func(o *Options) { o.Out = editor })
		owns := 0
		step := func(format string, args ...any) {
			b.input(fmt.Sprintf(format, args...))
			synctest.Wait()
			owns += strings.Count(b.plain(b.toAg.take()), `"own-`)
		}
		for i := range sessions {
			step(`E> {"jsonrpc":"2.0","id":"n%d","method":"session/new","params":{"cwd":"/w%d","mcpServers":[]}}`, i, i)
			step(`A> {"jsonrpc":"2.0","id":"n%d","result":{"sessionId":"s%d"}}`, i, i)
			step("wait 3s")
			step(`E> {"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s%d","prompt":[]}}`, i, i)
			step("D> notice-of s%d background task bash-1 finished", i)
		}
		before, peak := inUse(), 0
		answer := func(i int) {
			_, _ = fmt.Fprintf(b.agent, `{"jsonrpc":"2.0","id":%d`+tallyMark+`,"x":"`, i)
			_, _ = io.WriteString(b.agent, text)
			step(`A> "}}`)
			peak = max(peak, inUse()-before)
		}
		answer(0)
		answer(0)
		if got := editor.all()["0"]; owns != 1 || got != 0 {
			t.Fatalf("there are %d prompts of ours, and the editor has %d answers", owns, got)
		}
		answer(0)
		if got := editor.all()["0"]; got != 1 {
			t.Errorf("there was no room for a third answer, and the editor has %d", got)
		}
		for i := 1; i < sessions; i++ {
			answer(i)
		}
		if owns != sessions {
			t.Errorf("%d sessions were told, want all %d", owns, sessions)
		}
		for n := range owns {
			step(`A> {"jsonrpc":"2.0","id":"own-%d","result":{"stopReason":"end_turn"}}`, n+1)
		}
		got := editor.all()
		for i := range sessions {
			if want := 1 + 2*max(0, 1-i); got[fmt.Sprint(i)] != want {
				t.Errorf("of session %d the editor has %d answers, want %d", i, got[fmt.Sprint(i)], want)
			}
		}
		if peak > keptLimit+room {
			t.Errorf("%d MiB in memory, want at most %d", peak>>20, (keptLimit+room)>>20)
		}
		t.Logf("peak %d MiB", peak>>20)
		b.end()
	})
}
