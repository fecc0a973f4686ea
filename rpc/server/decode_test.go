package server

import (
	"encoding/json"
	"io"
	"slices"
	"testing"

	"sidetask/rpc"
)

// TestNamesAreExact: a parameter's name in other letters is none of ours, at
// any depth, and takes nothing away from the real one.
func TestNamesAreExact(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "a")
	c, worker := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "k", "label": "first", "stream": true})
	worker.registered(args{"token": tokenA, "kind": "k", "label": "second", "stream": true})
	for _, params := range []string{
		`{"id":"k-1","ID":"k-2"}`, `{"Id":"k-2","id":"k-1"}`, `{"id":"k-1","unknown":{"id":"k-2"}}`, `{"id":"k-2","id":"k-1"}`,
		`{"id":"k-1","Token":"` + tokenB + `"}`, `{"id":"k-1","toKen":""}`, `{"id":"k-1","ſession":"nobody"}`,
	} {
		var got rpc.TaskResult
		c.call("task/get", json.RawMessage(params), &got)
		if got.Task.ID != "k-1" || got.Task.Operator == nil {
			t.Errorf("%s: got %+v", params, got.Task)
		}
	}
	c.refused(rpc.CodeInvalidParams, `invalid params: "pty" needs cols and rows of at least 1`, "task/start", json.RawMessage(`{"command":"x","pty":{"cols":0,"rows":5,"COLS":80}}`))
	c.refused(rpc.CodeInvalidParams, "invalid command: expected a non-empty string", "task/start", json.RawMessage(`{"Command":"x"}`))
	// What is left out is as long as what the escapes of the rest add.
	bent := g.dial()
	if _, err := io.WriteString(bent.nc, `{"jsonrpc":"2.0","id":"as it is","method":"initialize","params":{"client":{"name":"<<","NAME":""}}}`); err != nil {
		t.Fatal(err)
	}
	bent.call("tools/list", args{}, nil)
	if clients := g.server.Clients(); !slices.ContainsFunc(clients, func(c rpc.Client) bool { return c.Name == "<<" }) {
		t.Errorf("another name came through: %+v", clients)
	}
	bound := g.dial()
	bound.call("initialize", json.RawMessage(`{"protocolVersion":1,"client":{"name":"x"},"capabilities":{"Delivered":true},"token":"`+tokenA+`","Token":"`+tokenB+`"}`), nil)
	var list rpc.TaskListResult
	bound.call("task/list", args{}, &list)
	if len(list.Tasks) != 2 {
		t.Errorf("bound to the wrong owner: %+v", list.Tasks)
	}
}

// TestEmptyIsNotTheOperator: a token or session that is there and empty is a
// mistake of the caller and must not make it the person.
func TestEmptyIsNotTheOperator(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "a").registered(args{"token": tokenA, "kind": "k", "label": "of a", "stream": true})
	c := g.dial()
	for name, values := range map[string][]any{"token": {"", nil}, "session": {"", nil}} {
		for _, value := range values {
			for method, params := range map[string]args{
				"task/list": {}, "task/get": {"id": "k-1"}, "task/start": {"command": "x"}, "task/subscribe": {}, "task/kill": {"id": "k-1"},
				"tools/call": {"name": "task_list"}, "inbox/list": {}, "owner/dispose": {}, "task/register": {"kind": "k", "label": "l"},
			} {
				params[name] = value
				c.refused(rpc.CodeInvalidParams, `invalid params: "`+name+`" must not be empty where it is given`, method, params)
			}
		}
	}
	for _, value := range []any{"", nil} {
		c.refused(rpc.CodeInvalidParams, `invalid params: "token" must not be empty where it is given`, "initialize", args{"protocolVersion": 1, "token": value})
	}
	if tasks := g.tasks(); len(tasks) != 1 || tasks[0].Status != "running" {
		t.Errorf("something was done all the same: %+v", tasks)
	}
}

// TestWholeNumbers: a language without integers writes 5.0; what is no whole number
// is refused everywhere.
func TestWholeNumbers(t *testing.T) {
	g := newRig(t, "")
	c := g.dial()
	id := c.registered(args{"kind": "k", "label": "l", "stream": true}).Task.ID
	c.call("task/append", args{"id": id, "text": "0123456789"}, nil)
	raw := func(number string) json.RawMessage { return json.RawMessage(number) }
	for _, number := range []string{"5", "5.0", "5e0", "0.5e1", "50E-1"} {
		var list rpc.TaskListResult
		c.call("task/list", args{"limit": raw(number)}, &list)
		var tail rpc.TaskTailResult
		c.call("task/tail", args{"id": id, "offset": raw(number), "maxBytes": raw(number)}, &tail)
		if len(list.Tasks) != 1 || tail.Data != "56789" {
			t.Errorf("%s: %+v, %q", number, list, tail.Data)
		}
		c.call("tools/call", args{"name": "task_list", "maxWaitMs": raw(number)}, nil)
		c.call("task/subscribe", args{"since": raw("-0.0")}, nil)
	}
	for _, number := range []string{"5.5", "1e300", "-1e300"} {
		c.refused(rpc.CodeInvalidParams, `invalid params: "limit" cannot be a number `+number, "task/list", args{"limit": raw(number)})
		c.refused(rpc.CodeInvalidParams, `invalid params: "offset" must be a whole number or "end"`, "task/tail", args{"id": id, "offset": raw(number)})
	}
}
