package acp

import (
	"encoding/json"
	"os"
	"regexp"
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
E> {"jsonrpc":"2.0","id":20,"method":"auth/login","params":{"methodId":"key","_meta":{"key":"SECRET-O"}}}
E> {"jsonrpc":"2.0","method":"_x","params":{"accessToken":"SECRET-P","client_secret":"SECRET-Q","OPENAI_API_KEY":"SECRET-R","x-api-key":"SECRET-S","credentials":{"a":["SECRET-T"]},"usage":{"inputTokens":4711}}}
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
	for _, plain := range []string{`host/***`, `\"K\"`, `\"hi\"`, `authenticate`, `auth/login`, `4711`} {
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
