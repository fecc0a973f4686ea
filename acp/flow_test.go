package acp

import (
	"bufio"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What the agent writes in one go with an answer that waits for a bind stays
// behind it, in order (ACP.md §1, §2).
func TestHeldInOneRead(t *testing.T) {
	const answer, update = `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}` + "\n", `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}` + "\n"
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, false)
			b.input(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
			synctest.Wait()
			b.input("D> hang")
			_, _ = io.WriteString(b.agent, answer+update+update)
			synctest.Wait()
			if got := b.toEd.take(); got != "" {
				t.Errorf("at once the editor got %q", got)
			}
			if dies {
				b.die(0)
				synctest.Wait()
			} else {
				time.Sleep(bindPatience)
				synctest.Wait()
			}
			if got := b.toEd.take(); got != answer+update+update {
				t.Errorf("dies %v: the editor got %q", dies, got)
			}
			b.input("D> go")
			b.end()
		})
	}
}

// While an answer waits for a bind nothing more is read from the agent: it is the only
// one, however much the agent says (ACP.md §2).
func TestBindHoldsTheAgentUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, false)
		b.input(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
		synctest.Wait()
		b.input("D> hang")
		line := `{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("y", 10000) + `"}` + "\n"
		const lines = 2000 // 20 MB
		var sent atomic.Int64
		go func() {
			_, _ = io.WriteString(b.agent, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`+"\n")
			for ; sent.Load() < lines; sent.Add(1) {
				_, _ = io.WriteString(b.agent, line)
			}
		}()
		synctest.Wait() // all has come to rest: the agent is held up
		if taken := int(sent.Load()) * len(line); taken > queueLimit {
			t.Errorf("%d bytes are in the proxy, want at most %d", taken, queueLimit)
		}
		time.Sleep(bindPatience)
		synctest.Wait()
		if got := strings.Count(b.toEd.take(), line); got != lines {
			t.Errorf("the editor got %d lines, want %d", got, lines)
		}
		b.input("D> go")
		b.end()
	})
}

// An editor that does not read holds the agent up, and nothing else: what it
// says still reaches the agent, and memory is bounded.
func TestSlowEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(Options{})
		line := `{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("y", 10000) + `"}` + "\n"
		const lines = 2000 // 20 MB
		sent := 0
		go func() {
			for ; sent < lines; sent++ {
				_, _ = io.WriteString(p.agent, line)
			}
		}()
		synctest.Wait() // all has come to rest: the agent is held up
		if taken := sent * len(line); taken > 2*queueLimit {
			t.Errorf("%d bytes are in the proxy, want at most %d", taken, 2*queueLimit)
		}
		const cancel = `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}` + "\n"
		_, _ = io.WriteString(p.editor, cancel)
		if got, err := bufio.NewReader(p.toAgent).ReadString('\n'); got != cancel {
			t.Errorf("the agent got %q, %v, want the cancel", got, err)
		}
		toEditor := bufio.NewReader(p.toEditor)
		for n := range lines {
			if got, err := toEditor.ReadString('\n'); err != nil || got != line {
				t.Fatalf("line %d: %v", n, err)
			}
		}
		p.end()
	})
}

// An agent that does not read holds its editor up, and gets its own lines through.
func TestSlowAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes(Options{})
		line := `{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("y", 10000) + `"}` + "\n"
		sent := 0
		go func() {
			for ; sent < 2000; sent++ {
				if _, err := io.WriteString(p.editor, line); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		if taken := sent * len(line); taken > 2*queueLimit {
			t.Errorf("%d bytes are in the proxy, want at most %d", taken, 2*queueLimit)
		}
		const update = `{"jsonrpc":"2.0","method":"session/update","params":{}}` + "\n"
		_, _ = io.WriteString(p.agent, update)
		if got, err := bufio.NewReader(p.toEditor).ReadString('\n'); got != update {
			t.Errorf("the editor got %q, %v, want the update", got, err)
		}
		p.end()
	})
}

// A stderr that nobody reads holds nothing up: noise is lost, messages are not.
func TestUnreadStderr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unread, stderr := io.Pipe()
		p := newPipes(Options{Err: stderr})
		for range 1000 {
			_, _ = io.WriteString(p.agent, "[debug] "+strings.Repeat("noise ", 1000)+"\n")
		}
		const message = `{"jsonrpc":"2.0","method":"x"}` + "\n"
		_, _ = io.WriteString(p.agent, message)
		if got, err := bufio.NewReader(p.toEditor).ReadString('\n'); got != message {
			t.Errorf("the editor got %.200q, %v", got, err)
		}
		p.end() // though the noise is still unread
		_ = unread.Close()
	})
}

// What waits behind a wake is bounded, by refusing what is too much: a cancel of
// the editor always gets through, and memory stays bounded.
func TestMuchWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, false)
		for _, line := range strings.Split(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
wait 3s
D> notice background task bash-1 finished`, "\n") {
			b.input(line)
			synctest.Wait()
		}
		b.output()
		half := strings.Repeat("x", keptLimit/2)
		for _, line := range []string{
			`E> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"` + half + `"}]}}`,
			`E> {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"` + half + `"}]}}`,
			`E> {"jsonrpc":"2.0","id":4,"method":"session/x","params":{"sessionId":"s","text":"` + half + `"}}`,
			`E> {"jsonrpc":"2.0","method":"session/y","params":{"sessionId":"s","text":"` + half + `"}}`,
		} {
			b.input(line)
			synctest.Wait()
		}
		if got := b.toAg.take(); len(got) < len(half) || strings.Contains(got, "session/prompt") || strings.Contains(got, "session/x") {
			t.Errorf("the agent got %d bytes, want the notification only", len(got))
		}
		got := b.toEd.take()
		for _, id := range []string{`"id":3`, `"id":4`} {
			if !strings.Contains(got, id+`,"error":{"code":-32603,"message":"sidetask: more than 64 MiB wait`) {
				t.Errorf("no refusal of %s: %.300s", id, got)
			}
		}
		b.input(`E> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`)
		synctest.Wait()
		if got := b.toAg.take(); !strings.Contains(got, "session/cancel") {
			t.Errorf("the agent got %.100q, want the cancel", got)
		}
		if got := b.toEd.take(); !strings.Contains(got, `"id":2,"result":{"stopReason":"cancelled"}`) {
			t.Errorf("the editor got %.100q, want the first prompt cancelled", got)
		}
		b.end()
	})
}
