package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A trace has both directions, says what was added, held, changed or dropped,
// and shows no secret.
func TestTrace(t *testing.T) {
	trace := &sink{}
	synctest.Test(t, func(t *testing.T) {
		b := newBenchWith(t, func(o *Options) { o.Trace = trace })
		for _, line := range strings.Split(`E> {"jsonrpc":"2.0","id":9,"method":"authenticate","params":{"methodId":"key","_meta":{"apiKey":"SECRET-1"}}}
E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"a","command":"a","args":[],"env":[{"name":"K","value":"SECRET-2"}]},{"name":"b","type":"http","url":"http://me:SECRET-5@host/SECRET-6?k=SECRET-7","args":["--key","SECRET-8"],"headers":[{"name":"Authorization","value":"SECRET-3"}]},{"name":"c","env":{"K":"SECRET-4"}}]}}
A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
wait 3s
D> notice background task bash-1 finished
E> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}
A> not json but SECRET-9
E> {"jsonrpc":"2.0","id":12,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"o","env":[{"name":"K","value":"SECRET-A"}]}]}} x
E> {"jsonrpc":"2.0","id":13,"method":"session\/load","params":{"sessionId":"t","mcp\u0053ervers":[{"name":"o","\u0065nv":[{"name":"K","value":"SECRET-B"}]}]}}
E> {"jsonrpc":"2.0","id":14,"method":"auth\u0065nticate","params":{"k":"SECRET-C"}}
E> {"jsonrpc":"2.0","id":15,"method":"providers/set","params":{"id":"main","headers":{"Authorization":"SECRET-D"},"apiKey":"SECRET-E"}}
E> {"jsonrpc":"2.0","id":17,"method":"session/load","params":{"sessionId":"t","mcpServers":[{"name":"o","env":[{"name":"K","value":"SECRET-G"}]},]}}
E> {"jsonrpc":"2.0","id":18,"method":"session/load","params":{"sessionId":"t","mcpServers":[{"name":"o","env":[{"name":"K","value":"SECRET-H"}],}]}}
E> {"jsonrpc":"2.0","id":16,"method":"proxy/successor","params":{"method":"authenticate","params":{"k":"SECRET-F"}}}
E> {"jsonrpc":"2.0","id":19,"method":"session/load","params":{"sessionId":"t","mcpServers":[{"name":"o","env":[["K","SECRET-I"],"K=SECRET-J",{"name":"K","value":{"v":"SECRET-K"}}],"url":"::SECRET-L","token":{"a":"SECRET-M"}},{"env":"SECRET-N"}]}}
A> {"jsonrpc":"2.0","id":"own-1","result":{"stopReason":"end_turn"}}
A> {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"sidetask_task_list","rawInput":{}}}}`, "\n") {
			b.input(line)
			synctest.Wait()
			b.output()
		}
		b.end()
	})
	all := trace.take()
	if secrets := regexp.MustCompile(`SECRET-.`).FindAllString(all, -1); len(secrets) > 0 {
		t.Errorf("%q are in the trace", secrets)
	}
	for _, plain := range []string{`host/***`, `\"K\"`, `\"hi\"`, `authenticate`} {
		if !strings.Contains(all, plain) {
			t.Errorf("%s is not in the trace", plain)
		}
	}
	if tokenRE.MatchString(all) {
		t.Error("a token is in the trace")
	}
	marks := map[string]int{}
	for line := range strings.Lines(all) {
		var rec traced
		if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.At == "" || rec.Line == "" && rec.Size == 0 {
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

// A trace that cannot be written ends, is said once, and harms nobody.
func TestTraceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip("needs /dev/full")
		}
		defer func() { _ = full.Close() }()
		b := newBenchWith(t, func(o *Options) { o.Trace = full })
		for _, line := range []string{`{"jsonrpc":"2.0","method":"x"}`, `{"jsonrpc":"2.0","method":"y"}`} {
			b.input("E> " + line)
			synctest.Wait()
			if got := b.toAg.take(); got != line+"\n" {
				t.Errorf("the agent got %q", got)
			}
		}
		if got := b.er.take(); strings.Count(got, "the trace ends here") != 1 || !strings.Contains(got, "no space left") {
			t.Errorf("stderr: %q", got)
		}
		b.end()
	})
}

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
