package server

import (
	"testing"

	"sidetask/rpc"
)

// ended is a daemon with a task job-1 of owner A that has ended with output.
func ended(t *testing.T) (g *rig, host *client) {
	g = newRig(t, "")
	host = g.host(tokenA, "s")
	worker := g.dial()
	worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": true})
	worker.call("task/append", args{"id": "job-1", "text": "out\n"}, nil)
	worker.call("task/settle", args{"id": "job-1", "status": "completed"}, nil)
	host.heard("inbox/pending", nil)
	return g, host
}

func (c *client) pending(token string) int {
	c.t.Helper()
	var list rpc.InboxNotices
	c.call("inbox/list", args{"token": token}, &list)
	return len(list.Notices)
}

// TestLostAnswer: a reader whose connection ends before it took its answer has
// read nothing: the bytes come again, the bell rings (ARCHITECTURE, decision
// 10).
func TestLostAnswer(t *testing.T) {
	g, host := ended(t)
	reader := g.dial()
	reader.call("initialize", args{"protocolVersion": 1, "client": args{"name": "mcp"}, "token": tokenA, "capabilities": args{"delivered": true}}, nil)
	var got rpc.ToolsCallResult
	reader.call("tools/call", args{"name": "task_output", "arguments": args{"task_id": "job-1"}}, &got)
	if text(t, got) != "out\n[status: completed]" {
		t.Fatalf("got %+v", got)
	}
	if n := host.pending(tokenA); n != 0 {
		t.Errorf("%d notices wait while the report is on its way", n)
	}
	reader.close() // it never said tools/delivered
	host.heard("inbox/pending", nil)
	if n := host.pending(tokenA); n != 1 {
		t.Errorf("%d notices after the report was lost", n)
	}
	if again := text(t, host.tool(tokenA, "task_output", args{"task_id": "job-1"})); again != "out\n[status: completed]" {
		t.Errorf("read again: %q", again)
	}
	if n := host.pending(tokenA); n != 0 {
		t.Errorf("%d notices after the report arrived", n)
	}
}

// TestDelivered: tools/delivered makes the report final; a second read waits
// for it.
func TestDelivered(t *testing.T) {
	g, host := ended(t)
	reader := g.dial()
	reader.call("initialize", args{"protocolVersion": 1, "client": args{"name": "mcp"}, "token": tokenA, "capabilities": args{"delivered": true}}, nil)
	id, first := reader.start("tools/call", args{"name": "task_output", "arguments": args{"task_id": "job-1"}})
	reader.await(first)
	_, second := reader.start("tools/call", args{"name": "task_output", "arguments": args{"task_id": "job-1"}})
	reader.call("tools/list", args{}, nil) // the second is waiting, and nothing behind it is held up
	select {
	case r := <-second:
		t.Fatalf("the second read did not wait: %s", r.result)
	default:
	}
	reader.notify("tools/delivered", args{"id": rpc.RawID(id)})
	if r := reader.await(second); r.err != nil {
		t.Fatal(r.err)
	}
	if n := host.pending(tokenA); n != 0 {
		t.Errorf("%d notices", n)
	}
	_ = g
}

// TestCancelledOnItsWay: who cancels a call whose answer is on its way drops
// it; the bytes come again at once.
func TestCancelledOnItsWay(t *testing.T) {
	g, _ := ended(t)
	reader := g.dial()
	reader.call("initialize", args{"protocolVersion": 1, "token": tokenA, "capabilities": args{"delivered": true}}, nil)
	id, first := reader.start("tools/call", args{"name": "task_output", "arguments": args{"task_id": "job-1"}})
	reader.await(first)
	reader.notify("$/cancel_request", args{"requestId": rpc.RawID(id)})
	reader.call("tools/list", args{}, nil) // in order: it has been cancelled
	g.server.mu.Lock()
	for c := range g.server.conns {
		c.mu.Lock()
		if len(c.unconfirmed) > 0 {
			t.Errorf("kept of a call that is given up: %v", c.unconfirmed)
		}
		c.mu.Unlock()
	}
	g.server.mu.Unlock()
	if got := text(t, reader.tool("", "task_output", args{"task_id": "job-1"})); got != "out\n[status: completed]" {
		t.Errorf("read again: %q", got)
	}
}

// TestNotificationReadsNothing: a read without id cannot be answered, so it
// takes nothing.
func TestNotificationReadsNothing(t *testing.T) {
	_, host := ended(t)
	host.notify("task/output", args{"token": tokenA, "id": "job-1"})
	if n := host.pending(tokenA); n != 1 {
		t.Errorf("%d notices", n)
	}
	var out rpc.TaskOutputResult
	host.call("task/output", args{"token": tokenA, "id": "job-1"}, &out)
	if out.Text != "out\n" {
		t.Errorf("read %q", out.Text)
	}
}

// TestOperatorTakesNothing: its reads have a cursor of their own, its reads and
// waits report nothing (API.md, Who is calling).
func TestOperatorTakesNothing(t *testing.T) {
	g, host := ended(t)
	operator := g.dial()
	for _, want := range []string{"out\n", ""} {
		var out rpc.TaskOutputResult
		operator.call("task/output", args{"id": "job-1"}, &out)
		if out.Text != want || out.Task.Operator == nil || out.Task.Operator.Session != "s" || out.Task.Operator.Reported {
			t.Errorf("the operator reads %q of %+v", out.Text, out.Task.Operator)
		}
	}
	operator.call("task/wait", args{"id": "job-1", "timeoutMs": 1}, nil)
	if n := host.pending(tokenA); n != 1 {
		t.Errorf("%d notices after the operator looked", n)
	}
	if got := text(t, host.tool(tokenA, "task_output", args{"task_id": "job-1"})); got != "out\n[status: completed]" {
		t.Errorf("the model reads %q", got)
	}
	// As the owner it consumes.
	var out rpc.TaskOutputResult
	operator.call("task/output", args{"session": "s", "agent": "test", "id": "job-1", "from": "start"}, &out)
	if out.Text != "out\n" || out.Task.Operator != nil {
		t.Errorf("as the owner: %+v", out)
	}
}
