package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sidetask/rpc"
)

const boundMessage = "this connection is bound to one owner: it can act as no other"

// TestWhoIsCalling pins API.md, Who is calling: a token sees its own and the
// unowned; a bound connection is nobody else; the operator sees everything.
func TestWhoIsCalling(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "a")
	g.host(tokenB, "b")
	worker, operator := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "a", "label": "of a", "stream": true})
	worker.registered(args{"token": tokenB, "kind": "b", "label": "of b", "stream": true})
	worker.registered(args{"shared": true, "kind": "all", "label": "of all", "stream": true})
	worker.registered(args{"kind": "op", "label": "the operator's", "stream": true})
	ids := func(params args) string {
		var list rpc.TaskListResult
		operator.call("task/list", params, &list)
		var out []string
		for _, task := range list.Tasks {
			out = append(out, task.ID)
			if _, as := params["token"]; (task.Operator == nil) != (as || params["session"] != nil) {
				t.Errorf("%v: %s has operator %+v", params, task.ID, task.Operator)
			}
		}
		return strings.Join(out, " ")
	}
	for want, params := range map[string]args{
		"a-1 all-1":          {"token": tokenA},
		"b-1 all-1":          {"session": "b"},
		"a-1 b-1 all-1 op-1": {},
	} {
		if got := ids(params); got != want {
			t.Errorf("%v sees %q, want %q", params, got, want)
		}
	}
	for _, method := range []string{"task/get", "task/output", "task/kill", "task/wait", "task/tail", "task/write", "task/append", "task/settle", "task/resume"} {
		operator.refused(rpc.CodeInvalidParams, `invalid params: missing "id"`, method, args{"timeoutMs": 1, "key": "x"})
	}
	foreign := "task b-1 belongs to another session"
	for method, params := range map[string]args{
		"task/get": {}, "task/output": {}, "task/kill": {}, "task/wait": {"timeoutMs": 1}, "task/tail": {}, "task/write": {"data": "x"},
	} {
		params["token"], params["id"] = tokenA, "b-1"
		operator.refused(rpc.CodeForeignTask, foreign, method, params)
		params["id"] = "bash-99"
		operator.refused(rpc.CodeUnknownTask, "unknown task bash-99", method, params)
	}
	operator.refused(rpc.CodeUnauthorized, "only the operator may start a task that every agent sees", "task/start", args{"token": tokenA, "command": "x", "shared": true})
	operator.refused(rpc.CodeInvalidParams, "inbox/list needs an owner: give its token, or its session", "inbox/list", args{})
	operator.refused(rpc.CodeInvalidParams, "invalid params: agent without session", "task/list", args{"agent": "test"})

	bound := g.dial()
	bound.call("initialize", args{"protocolVersion": 1, "client": args{"name": "x"}, "token": tokenA}, nil)
	var list rpc.TaskListResult
	bound.call("task/list", args{}, &list)
	if len(list.Tasks) != 2 {
		t.Errorf("a bound connection sees %+v", list.Tasks)
	}
	bound.call("task/list", args{"token": tokenA}, nil)
	bound.refused(rpc.CodeUnauthorized, boundMessage, "task/list", args{"token": tokenB})
	bound.refused(rpc.CodeUnauthorized, boundMessage, "task/list", args{"session": "b"})
	bound.refused(rpc.CodeUnauthorized, boundMessage, "owner/register", args{"token": tokenB})
	bound.refused(rpc.CodeUnauthorized, boundMessage, "initialize", args{"protocolVersion": 1, "token": tokenB})
	for _, method := range []string{"owner/list", "daemon/stop", "daemon/status", "daemon/restart", "config/get", "config/reload", "config/subscribe", "mount/list", "mount/attach", "mount/detach", "policy/attach", "task/prune"} {
		bound.refused(rpc.CodeUnauthorized, method+" is the operator's: this connection is bound to one owner", method, args{})
	}
}

// TestErrors pins the table Errors of API.md as far as the tests beside this
// one do not: code, data.kind and message.
func TestErrors(t *testing.T) {
	g := newRig(t, "[limits]\nmaxConcurrentTasksPerOwner = 1\n[mounts.\"/off\"]\nenabled = false\n")
	g.host(tokenA, "a")
	off, c, worker := g.dial(), g.dial(), g.dial()
	off.call("owner/register", args{"token": tokenB, "session": "b", "scope": "/off"}, nil)
	worker.registered(args{"token": tokenA, "kind": "k", "label": "l", "stream": true})
	for _, e := range []struct {
		code                  int
		kind, message, method string
		params                any
	}{
		{-32003, "limitReached", "background task limit reached for this owner (limit: 1); use task_kill to stop an unneeded task, wait for it to finish, then retry", "task/start", args{"token": tokenA, "command": "x"}},
		{-32004, "noController", "background tasks unavailable: no task controller serves this agent", "task/start", args{"token": tokenB, "command": "x"}},
		{-32005, "unauthorized", "task k-1 is held by another connection; task/resume with its key takes it over", "task/append", args{"id": "k-1", "text": "x"}},
		{-32602, "", "invalid task kind: expected a non-empty string", "task/register", args{"kind": "", "label": "l"}},
		{-32602, "", "invalid task label: expected a non-empty string", "task/register", args{"kind": "k", "label": ""}},
		{-32602, "", `invalid task kind "a b": expected 1 to 64 bytes without /, space or control character`, "task/register", args{"kind": "a b", "label": "l"}},
		{-32602, "", "invalid outputLimitBytes: expected a positive safe integer, got 0", "task/register", args{"kind": "k", "label": "l", "outputLimitBytes": 0}},
		{-32602, "", `invalid outputLimitBytes: expected a positive safe integer, got "5"`, "task/start", args{"command": "x", "outputLimitBytes": "5"}},
		{-32602, "", "invalid command: expected a non-empty string", "task/start", args{"command": " "}},
		{-32602, "", "invalid timeoutMs: expected a positive number, got 0", "task/start", args{"command": "x", "timeoutMs": 0}},
		{-32602, "", `invalid params: "stderr" must be "separate"`, "task/start", args{"command": "x", "stderr": "both"}},
		{-32602, "", `invalid params: "command" cannot be a number`, "task/start", args{"command": 5}},
		{-32602, "", `invalid params: "token" cannot be a number`, "task/output", args{"token": 5}},
		{-32602, "", `invalid params: "pty.cols" cannot be a string`, "task/start", args{"pty": args{"cols": "x"}}},
		{-32602, "", `invalid params: "pty" needs cols and rows of at least 1`, "task/start", args{"command": "x", "pty": args{"cols": 0, "rows": 5}}},
		{-32602, "", "invalid params: must be an object", "task/list", []any{}},
		{-32602, "", "invalid wait timeout: expected a positive number of milliseconds, got 0", "task/wait", args{"id": "k-1", "timeoutMs": 0}},
		{-32602, "", `invalid wait timeout: expected a positive number of milliseconds, got "1"`, "task/wait", args{"id": "k-1", "timeoutMs": "1"}},
		{-32602, "", "deadline timeoutMs must be a positive finite number no greater than 2147483647", "task/wait", args{"id": "k-1", "timeoutMs": 2147483648}},
		{-32602, "", "invalid wait timeout: expected a positive number of milliseconds, got 0", "inbox/wait", args{"token": tokenA, "timeoutMs": 0}},
		{-32602, "", `invalid wait timeout: expected a positive number of milliseconds, got "1"`, "inbox/wait", args{"token": tokenA, "timeoutMs": "1"}},
		{-32602, "", "deadline timeoutMs must be a positive finite number no greater than 2147483647", "inbox/wait", args{"token": tokenA, "timeoutMs": 2147483648}},
		{-32602, "", "invalid wait timeout: expected a positive number of milliseconds, got null", "task/wait", args{"id": "k-1", "timeoutMs": json.RawMessage("1e999")}},
		{-32602, "", "invalid wait timeout: expected a positive number of milliseconds, got null", "task/wait", args{"id": "k-1"}},
		{-32001, "unknownTask", "unknown task k-2", "task/wait", args{"id": "k-2", "timeoutMs": "1"}},
		{-32602, "", `invalid params: "limit" must be at most 1000, and not negative`, "task/list", args{"limit": 1001}},
		{-32602, "", `invalid params: "maxBytes" must be at most 1048576, and not negative`, "task/tail", args{"id": "k-1", "maxBytes": 1<<20 + 1}},
		{-32602, "", `invalid params: "offset" must be a whole number or "end"`, "task/tail", args{"id": "k-1", "offset": 1.5}},
		{-32602, "", `invalid until: error parsing regexp: missing closing ): ` + "`(`", "task/output", args{"id": "k-1", "wait": true, "until": "("}},
		{-32602, "", `invalid arguments: "from" must be "start"`, "task/output", args{"id": "k-1", "from": "middle"}},
		{-32602, "", `invalid params: "reason" must be "wake", "turn-end" or "user"`, "inbox/claim", args{"token": tokenA, "reason": "x"}},
		{-32602, "", "invalid token: expected 16 to 256 bytes without white space (a host makes it of 128 random bits, in hex)", "owner/register", args{"token": "short"}},
		{-32602, "", "invalid token: expected 16 to 256 bytes without white space (a host makes it of 128 random bits, in hex)", "initialize", args{"token": strings.Repeat("x", 257)}},
		{-32602, "", "invalid session: expected a non-empty string", "owner/bind", args{"token": tokenA}},
		{-32602, "", "invalid task label: 131073 bytes, at most 131072", "task/start", args{"command": "x", "label": strings.Repeat("x", 128<<10+1)}},
		{-32602, "", `invalid scope "x": must begin with "/"`, "owner/register", args{"token": tokenA + "2", "scope": "x"}},
		{-32602, "", `invalid status: expected "idle" or "busy"`, "owner/update", args{"token": tokenA, "status": "asleep"}},
		{-32602, "", `invalid status "running": expected completed, killed or failed`, "task/settle", args{"id": "k-1", "status": "running"}},
		{-32602, "", `invalid params: stage "around" must be "pre" or "post"`, "policy/attach", args{"scope": "/", "stages": []string{"around"}}},
		{-32602, "", `invalid params: "bash" is none of the tools`, "policy/attach", args{"scope": "/", "stages": []string{"pre"}, "tools": []string{"bash"}}},
		{-32602, "", `invalid params: "tools" names "task_start" twice`, "policy/attach", args{"scope": "/", "stages": []string{"pre"}, "tools": []string{"task_start", "task_start"}}},
		{-32601, "", "unknown method task/nope; if this daemon is older than its client: sidetask daemon restart", "task/nope", args{}},
		{-32602, "", "the client speaks protocol version 2, this daemon 1: sidetask daemon restart", "initialize", args{"protocolVersion": 2}},
	} {
		c.refused(e.code, e.message, e.method, e.params)
		err := c.try(e.method, e.params, nil)
		var data struct{ Kind string }
		if wire, ok := err.(*rpc.Error); ok && wire.Data != nil {
			_ = json.Unmarshal(wire.Data, &data)
		}
		if data.Kind != e.kind {
			t.Errorf("%s %v: data.kind %q, want %q", e.method, e.params, data.Kind, e.kind)
		}
	}
}

// TestOwnerResolve: a host with several owners is asked whose a call is; it may
// name one of its own only; its own error comes through (ACP.md §2).
func TestOwnerResolve(t *testing.T) {
	g := newRig(t, "")
	host, stranger, model := g.dial(), g.dial(), g.dial()
	var first, second, other rpc.OwnerRegistered
	host.call("owner/register", args{"token": tokenA, "session": "1"}, &first)
	stranger.call("owner/register", args{"token": strings.Repeat("9", 32), "session": "3"}, &other)
	said := make(chan rpc.OwnerResolve, 10)
	var answer any
	var failure *rpc.Error
	host.answer["owner/resolve"] = func(params json.RawMessage) (any, *rpc.Error) {
		var p rpc.OwnerResolve
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		said <- p
		return answer, failure
	}
	model.tool(tokenA, "task_list", args{}) // one owner: nobody is asked
	host.call("owner/register", args{"token": tokenB, "session": "2"}, &second)
	worker := g.dial()
	worker.registered(args{"token": tokenB, "kind": "k", "label": "of the second", "stream": true})

	answer = args{"owner": second.Owner}
	var got rpc.ToolsCallResult
	model.call("tools/call", args{"token": tokenA, "name": "task_list", "arguments": args{}, "_meta": args{"x": 1}}, &got)
	if text(t, got) != "k-1 [k] running — of the second" {
		t.Errorf("the call was run as another: %q", text(t, got))
	}
	if p := <-said; p.Owner != first.Owner || p.Name != "task_list" || string(p.Arguments) != "{}" || string(p.Meta) != `{"x":1}` {
		t.Errorf("asked %+v", p)
	}
	call := args{"token": tokenA, "name": "task_list", "arguments": args{}}
	answer = args{"owner": other.Owner}
	model.refused(rpc.CodeUnauthorized, "the host named an owner that is none of its own", "tools/call", call)
	failure = &rpc.Error{Code: 1, Message: "this call fits two sessions"}
	model.refused(rpc.CodeUnauthorized, "this call fits two sessions", "tools/call", call)
	host.tool(tokenB, "task_list", args{}) // the host's own calls are its own
	if len(said) != 2 {
		t.Errorf("asked %d times more, want 2", len(said))
	}
}

// TestAwaitHost: a tools/call whose token is not known yet waits for its host,
// others do not.
func TestAwaitHost(t *testing.T) {
	g := newRig(t, "")
	model := g.dial()
	model.call("initialize", args{"protocolVersion": 1, "token": tokenA}, nil)
	_, early := model.start("tools/call", args{"name": "task_list", "arguments": args{}})
	if err := model.try("task/list", args{}, nil); err == nil || err.(*rpc.Error).Code != rpc.CodeOwnerGone {
		t.Errorf("task/list without a host: %v", err)
	}
	g.host(tokenA, "s")
	if r := model.await(early); r.err != nil || !strings.Contains(string(r.result), "(no background tasks)") {
		t.Errorf("the early call: %s, %v", r.result, r.err)
	}
}

// TestAbort: owner/abort and $/cancel_request end waits with their own answers
// (T51, T123, T184).
func TestAbort(t *testing.T) {
	g := newRig(t, "")
	host := g.host(tokenA, "s")
	worker, model := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "k", "label": "l", "stream": true})
	wait := args{"token": tokenA, "id": "k-1", "timeoutMs": 60000}
	call := args{"token": tokenA, "name": "task_output", "arguments": args{"task_id": "k-1", "wait": true}}
	for _, how := range []string{"abort", "cancel"} {
		waitID, waiting := model.start("task/wait", wait)
		toolID, tool := model.start("tools/call", call)
		inboxID, inbox := model.start("inbox/wait", args{"token": tokenA})
		model.call("tools/list", args{}, nil) // in order: the three have begun by now
		if how == "abort" {
			// Which is not to say that they wait: an abort on another connection may come too early for
			// one of them, and does not come for it then.
			for len(waiting) == 0 || len(tool) == 0 || len(inbox) == 0 {
				host.call("owner/abort", args{"token": tokenA}, nil)
			}
		} else {
			for _, id := range []string{waitID, toolID, inboxID} {
				model.notify("$/cancel_request", args{"requestId": rpc.RawID(id)})
			}
		}
		if r := model.await(waiting); r.err == nil || r.err.Code != rpc.CodeAborted || r.err.Message != "wait aborted" {
			t.Errorf("%s: task/wait: %s, %v", how, r.result, r.err)
		}
		if r := model.await(tool); r.err != nil || !strings.Contains(string(r.result), `"Error: wait aborted"`) {
			t.Errorf("%s: task_output: %s, %v", how, r.result, r.err)
		}
		if r := model.await(inbox); r.err == nil || r.err.Code != rpc.CodeAborted {
			t.Errorf("%s: inbox/wait: %s, %v", how, r.result, r.err)
		}
	}
	var got rpc.TaskResult
	model.call("task/get", args{"id": "k-1"}, &got)
	if got.Task.Status != rpc.StatusRunning || got.Task.Operator.Reported {
		t.Errorf("an aborted wait did something: %+v", got.Task)
	}
}

// TestWaitsEndWithTheirConnection: nothing of a wait is left when its client is gone.
func TestWaitsEndWithTheirConnection(t *testing.T) {
	g := newRig(t, "")
	host := g.host(tokenA, "s")
	worker, model := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "k", "label": "l", "stream": true})
	model.start("task/wait", args{"token": tokenA, "id": "k-1", "timeoutMs": 60000})
	model.call("tools/list", args{}, nil)
	model.close()
	<-g.ended
	worker.call("task/settle", args{"id": "k-1", "status": "completed"}, nil)
	host.heard("inbox/pending", nil) // nobody was told: the notice is due (T53)
}

// TestRowNumbers: a command finds itself by $SIDETASK_TASK.
func TestRowNumbers(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	c := g.dial()
	c.call("task/start", args{"token": tokenA, "command": "x"}, nil)
	var row int64
	for _, task := range g.tasks() {
		row = int64(task.Row)
	}
	for _, form := range []string{"%d", "/%d"} {
		var got rpc.TaskResult
		c.call("task/get", args{"id": fmt.Sprintf(form, row)}, &got)
		if got.Task.ID != "bash-1" || got.Task.Operator.Session != "s" {
			t.Errorf("got %+v", got.Task)
		}
	}
	c.refused(rpc.CodeUnknownTask, "unknown task 999", "task/get", args{"id": "999"})
	c.refused(rpc.CodeUnknownTask, "unknown task 1", "task/get", args{"token": tokenA, "id": "1"})
}

// TestOwnerEnvironmentIsBounded: an owner's environment may have 2 MiB in
// total, at its registration and later; a refused one changes nothing.
func TestOwnerEnvironmentIsBounded(t *testing.T) {
	g := newRig(t, "")
	c := g.dial()
	most := args{"A": strings.Repeat("a", 1<<20-3), "B": strings.Repeat("b", 1<<20-3)}
	more := args{"A": most["A"], "B": most["B"], "C": ""}
	message := `invalid env: 2097155 bytes, at most 2097152; leave out what commands do not need`
	c.refused(-32602, message, "owner/register", args{"token": tokenA, "env": more})
	if owners := g.registry.Owners(); len(owners) != 0 {
		t.Errorf("a refused registration left %d owners", len(owners))
	}
	c.call("owner/register", args{"token": tokenA, "env": most}, nil)
	c.refused(-32602, message, "owner/update", args{"token": tokenA, "env": more})
	if owners := g.registry.Owners(); len(owners) != 1 || len(owners[0].Env) != 2 {
		t.Error("a refused update changed the environment")
	}
}
