package server

import (
	"encoding/json"
	"strings"
	"testing"

	"sidetask/registry"
	"sidetask/rpc"
)

// TestStart: what task/start and task_start hand to the command producer.
func TestStart(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	c := g.dial()
	var got rpc.TaskResult
	c.call("task/start", args{
		"token": tokenA, "command": "make", "label": "build", "cwd": "sub", "env": args{"A": "1"}, "timeoutMs": 1.5,
		"pty": args{"cols": 80, "rows": 24}, "stdin": true, "stderr": "separate", "key": "k", "outputLimitBytes": 100,
	}, &got)
	last := g.commands.last
	if got.Task.ID != "bash-1" || got.Task.Label != "build" || last.Command != "make" || last.Cwd != "sub" || last.Env["A"] != "1" || *last.TimeoutMs != 2 ||
		last.PTYCols != 80 || last.PTYRows != 24 || !last.Stdin || !last.Separate || last.Key != "k" || last.Shared {
		t.Errorf("started %+v as %+v", got.Task, last)
	}
	c.call("task/start", args{"token": tokenA, "command": "make", "key": "k"}, &got)
	if got.Task.ID != "bash-1" {
		t.Errorf("the same key gave %s", got.Task.ID)
	}
	result := c.tool(tokenA, "task_start", args{"command": "sleep 1", "timeout_ms": 5, "unknown": true})
	if text(t, result) != "started background task bash-2" || string(result.Value) != `{"kind":"background","taskId":"bash-2"}` {
		t.Errorf("task_start: %+v", result)
	}
	for want, arguments := range map[string]any{
		`Error: invalid arguments: missing required property "command"`:                args{},
		`Error: invalid arguments: "command" must be a string; "cwd" must be a string`: args{"command": 1, "cwd": 2},
		"Error: invalid command: expected a non-empty string":                          args{"command": "\n"},
		"Error: invalid timeout_ms: expected a positive number, got -1":                args{"command": "x", "timeout_ms": -1},
	} {
		if got := c.tool(tokenA, "task_start", arguments); !got.IsError || text(t, got) != want {
			t.Errorf("got %q, want %q", text(t, got), want)
		}
	}
	if got := c.tool(tokenA, "bash", args{}); !got.IsError || text(t, got) != `Error: unknown tool "bash"` {
		t.Errorf("got %+v", got)
	}
}

// TestDefaultCap: a command's read is cut by commands.outputLimitBytes with the
// marker that says where the rest is, and its value's text is bounded too (the
// table's rows on T138 and T194).
func TestDefaultCap(t *testing.T) {
	g := newRig(t, "[commands]\noutputLimitBytes = 200\n")
	host := g.host(tokenA, "s")
	c := g.dial()
	c.call("task/start", args{"token": tokenA, "command": "yes"}, nil)
	g.commands.write(g.tasks()[0].Row, strings.Repeat("y\n", 1000))
	result := c.tool(tokenA, "task_output", args{"task_id": "bash-1"})
	got := text(t, result)
	if len(got) > 200 || !strings.Contains(got, " bytes left out; see: sidetask tail bash-1]\n[status: running]") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	var value struct{ Text string }
	if err := json.Unmarshal(result.Value, &value); err != nil || len(value.Text) > 200 || !strings.HasSuffix(value.Text, "y\n") {
		t.Errorf("value %s, %v", result.Value, err)
	}
	long := strings.Repeat("x", 300)
	if got := text(t, c.tool(tokenA, "task_kill", args{"task_id": "bash-1", "reason": 5, "pad": long})); got != `Error: invalid arguments: "reason" must be a string` {
		t.Errorf("got %q", got)
	}
	_ = host
}

// TestHint: what a producer knows in passing is the detail while the task is
// live, wherever its status is shown.
func TestHint(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	c := g.dial()
	g.commands.facts.Hint = "waiting for input"
	c.call("task/start", args{"token": tokenA, "command": "cat", "stdin": true}, nil)
	if got := text(t, c.tool(tokenA, "task_output", args{"task_id": "bash-1"})); got != "(no new output)\n[status: running, waiting for input]" {
		t.Errorf("task_output: %q", got)
	}
	for _, params := range []args{{"id": "bash-1"}, {"id": "bash-1", "token": tokenA}} {
		var got rpc.TaskResult
		c.call("task/get", params, &got)
		if got.Task.Detail == nil || *got.Task.Detail != "waiting for input" {
			t.Errorf("%v: %+v", params, got.Task)
		}
	}
}

// TestLimitOfOne pins T99: the second start is refused and never runs, the
// first is killed, and then there is room.
func TestLimitOfOne(t *testing.T) {
	g := newRig(t, "[limits]\nmaxConcurrentTasksPerOwner = 1\n")
	g.host(tokenA, "s")
	c := g.dial()
	if got := text(t, c.tool(tokenA, "task_start", args{"command": "sleep 60"})); got != "started background task bash-1" {
		t.Errorf("the first: %q", got)
	}
	refused := c.tool(tokenA, "task_start", args{"command": "touch ran"})
	if got := text(t, refused); !refused.IsError || got != "Error: background task limit reached for this owner (limit: 1); use task_kill to stop an unneeded task, wait for it to finish, then retry" {
		t.Errorf("the second: %q", got)
	}
	g.commands.mu.Lock()
	ran := len(g.commands.texts)
	g.commands.mu.Unlock()
	if ran != 1 {
		t.Errorf("%d commands ran", ran)
	}
	if got := text(t, c.tool(tokenA, "task_kill", args{"task_id": "bash-1"})); got != "requested cancellation of task bash-1" {
		t.Errorf("the kill: %q", got)
	}
	if got := text(t, c.tool(tokenA, "task_start", args{"command": "x"})); !strings.HasPrefix(got, "Error: background task limit reached") { // T98
		t.Errorf("while it is stopping: %q", got)
	}
	g.registry.Settle(g.tasks()[0].Row, registry.Outcome{Status: registry.Killed})
	if got := text(t, c.tool(tokenA, "task_start", args{"command": "x"})); got != "started background task bash-2" { // no id burned
		t.Errorf("afterwards: %q", got)
	}
}
