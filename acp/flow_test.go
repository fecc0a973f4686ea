package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// A trace has both directions, says what was added, held, changed or dropped,
// and shows no secret.
func TestTrace(t *testing.T) {
	trace := &sink{}
	synctest.Test(t, func(t *testing.T) {
		b := newBenchWith(t, func(o *Options) { o.Trace = trace })
		for _, line := range strings.Split(`E> {"jsonrpc":"2.0","id":9,"method":"authenticate","params":{"methodId":"key","_meta":{"apiKey":"SECRET-1"}}}
E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"a","command":"a","args":[],"env":[{"name":"K","value":"SECRET-2"}]},{"name":"b","type":"http","url":"u","headers":[{"name":"Authorization","value":"SECRET-3"}]},{"name":"c","env":{"K":"SECRET-4"}}]}}
A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
wait 3s
D> notice background task bash-1 finished
E> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}
A> not json
A> {"jsonrpc":"2.0","id":"own-1","result":{"stopReason":"end_turn"}}
A> {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"sidetask_task_list","rawInput":{}}}}`, "\n") {
			b.input(line)
			synctest.Wait()
			b.output()
		}
		b.end()
	})
	all := trace.take()
	for _, secret := range []string{"SECRET-1", "SECRET-2", "SECRET-3", "SECRET-4"} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is in the trace", secret)
		}
	}
	if tokenRE.MatchString(all) {
		t.Error("a token is in the trace")
	}
	marks := map[string]int{}
	for line := range strings.Lines(all) {
		var rec traced
		if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.At == "" || rec.Line == "" {
			t.Fatalf("%s: %v", line, err)
		}
		marks[rec.Dir+" "+rec.Mark]++
	}
	for _, want := range []string{
		"editor>proxy ", "editor>proxy held", "proxy>agent ", "proxy>agent changed", "proxy>agent added",
		"agent>proxy ", "agent>proxy dropped", "agent>proxy held", "proxy>editor ", "proxy>editor changed",
	} {
		if marks[want] == 0 {
			t.Errorf("no line marked %q: %v", want, marks)
		}
	}
}

// An editor that does not read holds the agent up, and nothing else: what it
// says still reaches the agent, and memory is bounded.
func TestSlowEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edIn, editor := io.Pipe()
		toEditor, edOut := io.Pipe()
		agOut, agent := io.Pipe()
		toAgent := &sink{}
		died, done := make(chan int, 1), make(chan struct{})
		c := &child{stdin: toAgent, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "" }}
		go func() {
			defer close(done)
			runWith(context.Background(), Options{In: edIn, Out: edOut, Err: io.Discard, Agent: []string{"agent"}}, c)
		}()
		line := `{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("y", 10000) + `"}` + "\n"
		const lines = 2000 // 20 MB
		sent := 0
		go func() {
			for ; sent < lines; sent++ {
				_, _ = io.WriteString(agent, line)
			}
			_ = agent.Close()
		}()
		synctest.Wait() // all has come to rest: the agent is held up
		if taken := sent * len(line); taken > 2*queueLimit {
			t.Errorf("%d bytes are in the proxy, want at most %d", taken, 2*queueLimit)
		}
		_, _ = io.WriteString(editor, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`+"\n")
		synctest.Wait()
		if got := toAgent.take(); !strings.Contains(got, "session/cancel") {
			t.Errorf("the agent got %q, want the cancel", got)
		}
		scan, n := bufio.NewReader(toEditor), 0
		for ; n < lines; n++ {
			if got, err := scan.ReadString('\n'); err != nil || got != line {
				t.Fatalf("line %d: %v", n, err)
			}
		}
		_ = editor.Close()
		died <- 0
		<-done
	})
}

// An agent that does not read holds its editor up, and gets its own lines through.
func TestSlowAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edIn, editor := io.Pipe()
		toEditor := &sink{}
		agOut, agent := io.Pipe()
		toAgent, agIn := io.Pipe()
		died, done := make(chan int, 1), make(chan struct{})
		c := &child{stdin: agIn, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "" }}
		go func() {
			defer close(done)
			runWith(context.Background(), Options{In: edIn, Out: toEditor, Err: io.Discard, Agent: []string{"agent"}}, c)
		}()
		line := `{"jsonrpc":"2.0","method":"x","params":"` + strings.Repeat("y", 10000) + `"}` + "\n"
		sent := 0
		go func() {
			for ; sent < 2000; sent++ {
				if _, err := io.WriteString(editor, line); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		if taken := sent * len(line); taken > 2*queueLimit {
			t.Errorf("%d bytes are in the proxy, want at most %d", taken, 2*queueLimit)
		}
		_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","method":"session/update","params":{}}`+"\n")
		synctest.Wait()
		if got := toEditor.take(); !strings.Contains(got, "session/update") {
			t.Errorf("the editor got %q, want the update", got)
		}
		died <- 0 // with the agent gone, what was for it goes nowhere
		_ = agent.Close()
		_ = toAgent.Close()
		_ = editor.Close()
		<-done
	})
}

// A stderr that nobody reads holds nothing up: noise is lost, messages are not.
func TestUnreadStderr(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edIn, editor := io.Pipe()
		agOut, agent := io.Pipe()
		unread, stderr := io.Pipe()
		toEditor := &sink{}
		died, done := make(chan int, 1), make(chan struct{})
		c := &child{stdin: &sink{}, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-died, "" }}
		go func() {
			defer close(done)
			runWith(context.Background(), Options{In: edIn, Out: toEditor, Err: stderr, Agent: []string{"agent"}}, c)
		}()
		for range 1000 {
			_, _ = io.WriteString(agent, "[debug] "+strings.Repeat("noise ", 1000)+"\n")
		}
		_, _ = io.WriteString(agent, `{"jsonrpc":"2.0","method":"x"}`+"\n")
		synctest.Wait()
		if got := toEditor.take(); got != `{"jsonrpc":"2.0","method":"x"}`+"\n" {
			t.Errorf("the editor got %.200q", got)
		}
		_ = editor.Close()
		died <- 0
		_ = agent.Close()
		<-done // though the noise is still unread
		_ = unread.Close()
	})
}
