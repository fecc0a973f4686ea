package server

import (
	"encoding/json"
	"testing"

	"sidetask/rpc"
)

// TestTheWholePath: an agent's task ends, its host is rung, claims the notice,
// acknowledges it; the model reads the output.
func TestTheWholePath(t *testing.T) {
	g := newRig(t, "")
	host := g.host(tokenA, "s1")
	model := g.dial()
	var hello rpc.Initialized
	model.call("initialize", args{"protocolVersion": 1, "client": args{"name": "mcp", "version": "1"}, "token": tokenA}, &hello)
	if hello.Server.Name != "sidetask" || hello.Server.Version != "test" || hello.ProtocolVersion != 1 {
		t.Errorf("initialize: %+v", hello)
	}
	worker := g.dial()
	task := worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": true}).Task
	if task.ID != "job-1" || task.Status != rpc.StatusRunning {
		t.Errorf("registered %+v", task)
	}
	worker.call("task/append", args{"id": "job-1", "text": "hello\n"}, nil)
	if got := text(t, model.tool("", "task_list", args{})); got != "job-1 [job] running — work" {
		t.Errorf("task_list: %q", got)
	}
	worker.call("task/settle", args{"id": "job-1", "status": "completed", "detail": "exit code: 0"}, nil)

	var bell rpc.InboxPending
	host.heard("inbox/pending", &bell)
	if bell.Count != 1 || bell.Lane != rpc.LaneWake {
		t.Errorf("the bell: %+v", bell)
	}
	var claim rpc.InboxClaimed
	host.call("inbox/claim", args{"token": tokenA, "reason": "wake"}, &claim)
	if len(claim.Notices) != 1 || claim.Lease == "" {
		t.Fatalf("claim: %+v", claim)
	}
	if want := "background task job-1 (job: work) finished [status: completed, exit code: 0]. Read its output with task_output."; claim.Notices[0].Text != want {
		t.Errorf("notice %q", claim.Notices[0].Text)
	}
	host.call("inbox/ack", args{"token": tokenA, "lease": claim.Lease}, nil)

	read := model.tool("", "task_output", args{"task_id": "job-1"})
	if got, want := text(t, read), "hello\n[status: completed, exit code: 0]"; got != want {
		t.Errorf("task_output: %q, want %q", got, want)
	}
	var value struct {
		Text string
		Task rpc.Task
	}
	if err := json.Unmarshal(read.Value, &value); err != nil || value.Text != "hello\n" || value.Task.ID != "job-1" {
		t.Errorf("value %s, %v", read.Value, err)
	}
	if got, want := text(t, model.tool("", "task_kill", args{"task_id": "job-1"})), "task job-1 had already finished [status: completed, exit code: 0]"; got != want {
		t.Errorf("task_kill: %q, want %q", got, want)
	}
}
