package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sidetask/rpc"
)

func call(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

// ACP.md §2, §3: the call goes to the daemon with its _meta, bound to the token;
// the answer is the one text, without the value.
func TestCallIsForwarded(t *testing.T) {
	a, d, _ := world(t, "sekrit", patient)
	a.hello("claude-code", "3")
	a.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"_meta":{"claudecode/toolUseId":"toolu_1","big":12345678901234567890},"name":"task_output","arguments":{"task_id":"bash-1", "n":1.50}}}`)
	var hello rpc.Initialize
	_ = json.Unmarshal(d.next(t, rpc.MethodInitialize).Params, &hello)
	if hello.Token != "sekrit" || !hello.Capabilities.Delivered {
		t.Errorf("initialize %+v", hello)
	}
	h := d.next(t, rpc.MethodToolsCall)
	want := `{"name":"task_output","arguments":{"task_id":"bash-1","n":1.50},"_meta":{"claudecode/toolUseId":"toolu_1","big":12345678901234567890}}`
	if string(h.Params) != want {
		t.Errorf("forwarded %s, want %s", h.Params, want)
	}
	h.answer(t, text("one <b> & \u2028 line\n[status: running]"))
	line := a.next()
	if strings.Contains(line, "secret") || strings.Contains(line, "structuredContent") {
		t.Errorf("the agent got %s", line)
	}
	var m struct {
		ID     int
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.ID != 5 || len(m.Result.Content) != 1 || m.Result.Content[0].Text != "one <b> & \u2028 line\n[status: running]" {
		t.Errorf("the agent got %s", line)
	}
}

// Decision 10, API.md tools/delivered: said once the agent has the answer, never
// before, with the id of that call.
func TestDeliveredAfterWritten(t *testing.T) {
	a, d, j := world(t, "t", patient)
	a.hello("x", "1")
	a.send(call("1", "task_list", "{}"))
	h := d.next(t, rpc.MethodToolsCall)
	h.answer(t, text("(no background tasks)"))
	delivered := d.next(t, rpc.NotifyToolsDelivered)
	if want := fmt.Sprintf(`{"id":%s}`, h.ID); string(delivered.Params) != want {
		t.Errorf("delivered %s, want %s", delivered.Params, want)
	}
	if got := j.all(); got != "initialize tools/call written tools/delivered" {
		t.Errorf("order: %s", got)
	}
}

// An error of the tool stays one, and errors of the socket are texts (T126).
func TestErrorsAreTexts(t *testing.T) {
	a, d, _ := world(t, "t", patient)
	a.hello("x", "1")
	a.send(call("1", "task_output", `{"task_id":"bash-99"}`))
	d.next(t, rpc.MethodToolsCall).answer(t, `{"content":[{"type":"text","text":"Error: unknown task bash-99"}],"isError":true}`)
	if _, got, isError := a.answer(); got != "Error: unknown task bash-99" || !isError {
		t.Errorf("%q %v", got, isError)
	}
	a.send(call("2", "task_start", `{"command":"x"}`))
	d.next(t, rpc.MethodToolsCall).fail(t, rpc.CodeOwnerGone, "the editor's connection is not back yet; retry")
	if _, got, isError := a.answer(); got != "Error: the editor's connection is not back yet; retry" || !isError {
		t.Errorf("%q %v", got, isError)
	}
	a.send(call("3", "task_eat", `{}`))
	if got := a.next(); !strings.Contains(got, "-32602") {
		t.Errorf("an unknown tool: %s", got)
	}
}

// What a policy put in its place reaches the agent in its shape (T144); a kind
// that MCP does not know as its JSON.
func TestForeignBlocks(t *testing.T) {
	a, d, _ := world(t, "t", patient)
	a.hello("x", "1")
	a.send(call("1", "task_list", "{}"))
	d.next(t, rpc.MethodToolsCall).answer(t, `{"content":[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"reasoning","text":"b"}],"isError":true}`)
	want := `"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"text","text":"{\"type\":\"reasoning\",\"text\":\"b\"}"}]`
	if got := a.next(); !strings.Contains(got, want) {
		t.Errorf("got %s", got)
	}
}

// ACP.md §3: notifications/cancelled ends the wait and gets no answer; for an
// answered id it is ignored.
func TestCancel(t *testing.T) {
	a, d, j := world(t, "t", patient)
	a.hello("opencode", "1")
	a.send(call(`"w"`, "task_output", `{"task_id":"bash-1","wait":true}`))
	waiting := d.next(t, rpc.MethodToolsCall)
	a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w","reason":"user"}}`)
	cancelled := d.next(t, rpc.NotifyCancelRequest)
	if want := fmt.Sprintf(`{"requestId":%s}`, waiting.ID); string(cancelled.Params) != want {
		t.Errorf("cancelled %s, want %s", cancelled.Params, want)
	}
	waiting.fail(t, rpc.CodeAborted, "wait aborted")
	for i := range 3 {
		a.send(call(fmt.Sprint(i), "task_list", "{}"))
		d.next(t, rpc.MethodToolsCall).answer(t, text("fine"))
		if id, got, _ := a.answer(); id != fmt.Sprint(i) || got != "fine" {
			t.Errorf("call %d: %s %q", i, id, got)
		}
		d.next(t, rpc.NotifyToolsDelivered)
		a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"reason":"AbortError"}}`, i))
	}
	if n := strings.Count(j.all(), rpc.NotifyCancelRequest); n != 1 {
		t.Errorf("%d cancellations reached the daemon", n)
	}
}

// ACP.md §3: progress for a waiting task_output with a token, nothing after the
// answer, the token as it came.
func TestProgress(t *testing.T) {
	a, d, _ := world(t, "t", times{progress: time.Millisecond, connect: deadMan, leave: deadMan, ask: deadMan, alive: deadMan})
	a.hello("opencode", "1")
	for _, token := range []string{`"tok"`, `9007199254740993`} {
		a.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_output","arguments":{"task_id":"bash-1","wait":true},"_meta":{"progressToken":` + token + `}}}`)
		h := d.next(t, rpc.MethodToolsCall)
		for n := 1; n <= 3; n++ {
			if got, want := a.next(), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"message":"the task is still running","progress":%d}}`+"\n", token, n); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		h.answer(t, text("done"))
		for {
			line := a.next()
			if strings.Contains(line, "notifications/progress") {
				continue // sent before the answer came
			}
			if !strings.Contains(line, "done") {
				t.Errorf("got %s", line)
			}
			break
		}
	}
	for id, params := range map[string]string{
		"3": `"name":"task_output","arguments":{"task_id":"bash-1","wait":true}`,
		"4": `"name":"task_output","arguments":{"task_id":"bash-1"},"_meta":{"progressToken":1}`,
		"5": `"name":"task_list","arguments":{"wait":true},"_meta":{"progressToken":1}`,
	} {
		a.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + params + `}}`)
		h := d.next(t, rpc.MethodToolsCall)
		h.answer(t, text("no progress"))
		if got, _, _ := a.answer(); got != id {
			t.Errorf("call %s: %s", id, got)
		}
	}
}

// ACP.md §3: no wait outlives the agent's own patience.
func TestMaxWait(t *testing.T) {
	tests := []struct {
		name, version string
		progress      bool
		want          time.Duration
	}{
		{"opencode", "1.18.0", false, 50 * time.Second},
		{"opencode", "1.18.0", true, 0},
		{"codex-mcp-client", "0.165.9", true, 100 * time.Second},
		{"codex-mcp-client", "0.166.0", false, 0},
		{"codex-mcp-client", "0.166.0-alpha.1", false, 0},
		{"codex-mcp-client", "1.0.0", false, 0},
		{"codex-mcp-client", "dev", false, 0},
		{"gemini-cli-mcp-client", "0.61", true, 9 * time.Minute},
		{"claude-code", "3", false, 0},
	}
	for _, test := range tests {
		if got := maxWait(&mcp.Implementation{Name: test.name, Version: test.version}, test.progress); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	if maxWait(nil, false) != 0 {
		t.Error("an agent without a name")
	}
	a, d, _ := world(t, "t", patient)
	a.hello("opencode", "1")
	a.send(call("1", "task_output", `{"task_id":"bash-1","wait":true}`))
	h := d.next(t, rpc.MethodToolsCall)
	if !strings.Contains(string(h.Params), `"maxWaitMs":50000`) {
		t.Errorf("forwarded %s", h.Params)
	}
	h.answer(t, text("x"))
	a.next()
}

// The end of the agent's input ends open waits, and the server.
func TestEnd(t *testing.T) {
	a, d, _ := world(t, "t", patient)
	a.hello("x", "1")
	a.send(call("1", "task_output", `{"task_id":"bash-1","wait":true}`))
	d.next(t, rpc.MethodToolsCall)
	_ = a.in.Close()
	d.next(t, rpc.NotifyCancelRequest)
	select {
	case err := <-a.done:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(deadMan):
		t.Fatal("Run has not returned")
	}
}

// The library's own client gets along with it.
func TestLibraryClient(t *testing.T) {
	socket, j := socketPath(t), &journal{}
	d := listen(t, socket, j)
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	ours, theirs := pipes()
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{In: ours, Out: ours, Socket: socket, Token: "t"}) }()
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: theirs, Writer: theirs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Fatalf("%v %v", tools, err)
	}
	d.answersOne(t, rpc.MethodToolsCall, text("started background task bash-1"))
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "task_start", Arguments: map[string]any{"command": "make"}})
	if err != nil || result.StructuredContent != nil || len(result.Content) != 1 || result.Content[0].(*mcp.TextContent).Text != "started background task bash-1" {
		t.Errorf("%+v %v", result, err)
	}
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
