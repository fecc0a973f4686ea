package server

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sidetask/rpc"
)

// policed is a daemon with an owner, its model, a producer's task job-1 with
// some output, and a connection for a policy.
func policed(t *testing.T, config string) (g *rig, model, worker, policy *client) {
	g = newRig(t, config)
	g.host(tokenA, "s")
	model, worker, policy = g.dial(), g.dial(), g.dial()
	worker.answer["task/cancel"] = func(json.RawMessage) (any, *rpc.Error) { return struct{}{}, nil }
	worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": true})
	worker.call("task/append", args{"id": "job-1", "text": "out\n"}, nil)
	return g, model, worker, policy
}

func denies(reason string) func(json.RawMessage) (any, *rpc.Error) {
	return func(json.RawMessage) (any, *rpc.Error) { return args{"decision": "deny", "reason": reason}, nil }
}

// TestPolicyIsAsked pins what a policy is told, under the tool's name for the
// methods too, and that nobody is asked about the operator.
func TestPolicyIsAsked(t *testing.T) {
	_, model, _, policy := policed(t, "")
	asked := make(chan rpc.PolicyPre, 10)
	policy.answer["policy/pre"] = func(params json.RawMessage) (any, *rpc.Error) {
		var p rpc.PolicyPre
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		asked <- p
		return args{"decision": "allow"}, nil
	}
	policy.call("policy/attach", args{"scope": "/", "stages": []string{"pre"}}, nil)
	model.tool(tokenA, "task_output", args{"task_id": "job-1"})
	p := <-asked
	if p.Owner == "" || p.Scope != "/" || p.Name != "task_output" || string(p.Arguments) != `{"task_id":"job-1"}` || p.Task == nil || p.Task.ID != "job-1" || p.Task.Operator != nil {
		t.Errorf("asked %+v", p)
	}
	for method, want := range map[string]string{
		"task/output": `task_output {"task_id":"job-1","wait":false}`,
		"task/kill":   `task_kill {"reason":"why","task_id":"job-1"}`,
		"task/list":   `task_list {}`,
		"task/start":  `task_start {"command":"make","cwd":"/","timeout_ms":5}`,
	} {
		params := map[string]args{
			"task/output": {"id": "job-1"}, "task/kill": {"id": "job-1", "reason": "why"}, "task/list": {},
			"task/start": {"command": "make", "cwd": "/", "timeoutMs": 5},
		}[method]
		params["token"] = tokenA
		model.call(method, params, nil)
		p := <-asked
		if got := p.Name + " " + string(p.Arguments); got != want {
			t.Errorf("%s asks about %s, want %s", method, got, want)
		}
		delete(params, "token")
		model.call(method, params, nil) // the operator's
	}
	if len(asked) > 0 {
		t.Errorf("a policy was asked about the operator: %+v", <-asked)
	}
}

// TestPolicyDenies pins T149, T153: what is denied does nothing, and the
// methods answer with -32005 and the reason.
func TestPolicyDenies(t *testing.T) {
	_, model, _, policy := policed(t, "")
	policy.answer["policy/pre"] = denies("not today")
	policy.call("policy/attach", args{"scope": "/", "stages": []string{"pre"}}, nil)
	for _, tool := range []string{"task_output", "task_kill"} {
		if got := model.tool(tokenA, tool, args{"task_id": "job-1"}); !got.IsError || text(t, got) != "Error: not today" || got.Value != nil {
			t.Errorf("%s: %+v", tool, got)
		}
	}
	for method, params := range map[string]args{
		"task/start": {"token": tokenA, "command": "make"}, "task/list": {"token": tokenA},
		"task/output": {"token": tokenA, "id": "job-1"}, "task/kill": {"token": tokenA, "id": "job-1"},
	} {
		model.refused(rpc.CodeUnauthorized, "not today", method, params)
	}
	var list rpc.TaskListResult
	model.call("task/list", args{}, &list)
	if len(list.Tasks) != 1 || list.Tasks[0].Status != rpc.StatusRunning || list.Tasks[0].Operator.Reported {
		t.Errorf("a denied call did something: %+v", list.Tasks)
	}
	policy.close() // and then it is asked no more
	for model.tool(tokenA, "task_list", args{}).IsError {
	}
	if got := text(t, model.tool(tokenA, "task_output", args{"task_id": "job-1"})); got != "out\n[status: running]" {
		t.Errorf("a denied read took something: %q", got)
	}
}

// TestBrokenPolicy: a policy that gives no decision denies, and the message says so.
func TestBrokenPolicy(t *testing.T) {
	_, model, _, _ := policed(t, "")
	for name, c := range map[string]struct {
		answer func(json.RawMessage) (any, *rpc.Error)
		want   string
	}{
		"silent":      {nil, "Error: the policy at / did not answer within 50 ms: the call is denied"},
		"no decision": {func(json.RawMessage) (any, *rpc.Error) { return args{"decision": "maybe"}, nil }, "Error: the policy at / gave a decision that is none of allow, deny, value: the call is denied"},
		"no value":    {func(json.RawMessage) (any, *rpc.Error) { return args{"decision": "value"}, nil }, `Error: the policy at / gave the decision "value" without a value: the call is denied`},
		"bad value": {
			func(json.RawMessage) (any, *rpc.Error) {
				return args{"decision": "value", "value": args{"text": "x"}}, nil
			},
			`Error: denied by a policy: its value is none of task_output: missing required property "task"`,
		},
		"open object": {
			func(json.RawMessage) (any, *rpc.Error) {
				return args{"decision": "value", "value": args{"text": "x", "task": args{"id": "a", "kind": "b", "label": "c", "status": "running", "startedAt": 0, "ownerSession": "s"}}}, nil
			},
			`Error: denied by a policy: its value is none of task_output: unknown field "ownerSession"`,
		},
		"its own error":  {func(json.RawMessage) (any, *rpc.Error) { return nil, &rpc.Error{Code: 7, Message: "mine"} }, "Error: mine"},
		"without reason": {denies(""), "Error: denied by the policy at /"},
		"a wrong type": {
			func(json.RawMessage) (any, *rpc.Error) { return args{"decision": 5}, nil },
			`Error: the policy at / cannot be asked (its answer to policy/pre is wrong: "decision" cannot be a number): the call is denied`,
		},
		"a wrong answer": {
			func(json.RawMessage) (any, *rpc.Error) { return 5, nil },
			`Error: the policy at / cannot be asked (its answer to policy/pre is wrong: it cannot be a number): the call is denied`,
		},
		"a wrong value": {
			func(json.RawMessage) (any, *rpc.Error) {
				return args{"decision": "value", "value": args{"text": 5, "task": args{}}}, nil
			},
			`Error: denied by a policy: its value is none of task_output: "text" cannot be a number`,
		},
	} {
		policy := (&rig{t: t, path: model.nc.RemoteAddr().String()}).dial()
		if c.answer != nil {
			policy.answer["policy/pre"] = c.answer
		}
		policy.call("policy/attach", args{"scope": "/", "stages": []string{"pre"}, "tools": []string{"task_output"}, "timeoutMs": map[bool]int{true: 50, false: 30000}[c.answer == nil]}, nil)
		if got := model.tool(tokenA, "task_output", args{"task_id": "job-1"}); !got.IsError || text(t, got) != c.want {
			t.Errorf("%s: got  %q\nwant %q", name, text(t, got), c.want)
		}
		if got := model.tool(tokenA, "task_list", args{}); got.IsError {
			t.Errorf("%s: asked about a tool that it did not name: %+v", name, got)
		}
		policy.close()
		for model.tool(tokenA, "task_output", args{"task_id": "job-1"}).IsError { // until it is forgotten
		}
	}
}

// TestPolicyGoesAway: an open call is denied when its policy's connection ends.
func TestPolicyGoesAway(t *testing.T) {
	_, model, _, policy := policed(t, "")
	asked, over := make(chan bool, 1), make(chan bool)
	defer close(over)
	policy.answer["policy/pre"] = func(json.RawMessage) (any, *rpc.Error) {
		asked <- true
		<-over // it gives no answer
		return nil, nil
	}
	policy.call("policy/attach", args{"scope": "/", "stages": []string{"pre"}, "timeoutMs": 60000}, nil)
	_, reply := model.start("tools/call", args{"token": tokenA, "name": "task_list", "arguments": args{}})
	<-asked
	_ = policy.nc.Close()
	r := model.await(reply)
	if !strings.Contains(string(r.result), "Error: the policy at / cannot be asked (the connection is gone): the call is denied") {
		t.Errorf("got %s, %v", r.result, r.err)
	}
}

// TestPolicyCannotDeadlock: calls of a policy's own connection skip it, also
// from within its own answer; a read of the very task that is being read is
// refused and does not wait for itself.
func TestPolicyCannotDeadlock(t *testing.T) {
	_, model, _, policy := policed(t, "")
	said := make(chan string, 3)
	policy.answer["policy/post"] = func(json.RawMessage) (any, *rpc.Error) {
		said <- text(t, policy.tool(tokenA, "task_list", args{}))
		said <- text(t, policy.tool(tokenA, "task_output", args{"task_id": "job-1"}))
		var tail rpc.TaskTailResult
		policy.call("task/tail", args{"token": tokenA, "id": "job-1"}, &tail)
		said <- tail.Data
		return args{"decision": "accept"}, nil
	}
	policy.call("policy/attach", args{"scope": "/", "stages": []string{"post"}, "timeoutMs": 60000}, nil)
	if got := text(t, model.tool(tokenA, "task_output", args{"task_id": "job-1"})); got != "out\n[status: running]" {
		t.Errorf("the call itself: %q", got)
	}
	for _, want := range []string{
		"job-1 [job] running — work",
		"Error: task job-1 is being read by the call that this policy is asked about; task/tail takes nothing and can be used",
		"out\n",
	} {
		if got := <-said; got != want {
			t.Errorf("within its answer: %q, want %q", got, want)
		}
	}
}

// TestPostPolicy pins T151 to T153: each is asked about what the one before it
// left, a block does not undo the read, a value does not make a denial good.
func TestPostPolicy(t *testing.T) {
	g, model, _, first := policed(t, "")
	second := g.dial()
	first.answer["policy/post"] = func(json.RawMessage) (any, *rpc.Error) {
		return args{"decision": "accept", "content": []rpc.Content{rpc.Text("[hidden]")}}, nil
	}
	seen := make(chan rpc.PolicyPost, 1)
	second.answer["policy/post"] = func(params json.RawMessage) (any, *rpc.Error) {
		var p rpc.PolicyPost
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		seen <- p
		return args{"decision": "block", "content": []rpc.Content{rpc.Text("no"), rpc.Text("way")}}, nil
	}
	first.call("policy/attach", args{"scope": "/", "stages": []string{"post"}}, nil)
	second.call("policy/attach", args{"scope": "/", "stages": []string{"post"}}, nil)
	got := model.tool(tokenA, "task_output", args{"task_id": "job-1"})
	if !got.IsError || len(got.Content) != 2 || got.Content[1].Text != "way" {
		t.Errorf("got %+v", got)
	}
	if p := <-seen; len(p.Result.Content) != 1 || p.Result.Content[0].Text != "[hidden]" || p.Result.IsError {
		t.Errorf("the second was asked about %+v", p.Result)
	}
	second.close()
	first.answer["policy/post"] = nil
	first.close()
	for model.tool(tokenA, "task_list", args{}).IsError {
	}
	if got := text(t, model.tool(tokenA, "task_output", args{"task_id": "job-1"})); got != "(no new output)\n[status: running]" {
		t.Errorf("the blocked read did not consume: %q", got)
	}
	deny, praise := g.dial(), g.dial()
	deny.answer["policy/pre"] = denies("no")
	praise.answer["policy/post"] = func(json.RawMessage) (any, *rpc.Error) {
		return args{"decision": "accept", "value": []any{}}, nil
	}
	deny.call("policy/attach", args{"scope": "/", "stages": []string{"pre"}}, nil)
	praise.call("policy/attach", args{"scope": "/", "stages": []string{"post"}}, nil)
	if got := model.tool(tokenA, "task_list", args{}); !got.IsError || text(t, got) != "Error: no" {
		t.Errorf("got %+v", got)
	}
}

// TestPolicyScopes: a policy is asked about owners at and below its scope, the
// root's first.
func TestPolicyScopes(t *testing.T) {
	g := newRig(t, "[mounts.\"/a\"]\n")
	a, b := g.dial(), g.dial()
	a.call("owner/register", args{"token": tokenA, "session": "a", "scope": "/a/x"}, nil)
	b.call("owner/register", args{"token": tokenB, "session": "b", "scope": "/b"}, nil)
	order := make(chan string, 10)
	for _, at := range []string{"/a", "/", "/a/x/y", "/b"} {
		policy := g.dial()
		policy.answer["policy/pre"] = func(json.RawMessage) (any, *rpc.Error) {
			order <- at
			return args{"decision": "allow"}, nil
		}
		policy.call("policy/attach", args{"scope": at, "stages": []string{"pre"}}, nil)
	}
	a.tool(tokenA, "task_list", args{})
	for _, want := range []string{"/", "/a"} {
		if got := <-order; got != want {
			t.Errorf("asked %s, want %s", got, want)
		}
	}
	if len(order) > 0 {
		t.Errorf("asked %s too", <-order)
	}
}

// TestCancelWhileAPolicyIsAsked: the caller gave up, which is no denial.
func TestCancelWhileAPolicyIsAsked(t *testing.T) {
	_, model, _, policy := policed(t, "")
	policy.call("policy/attach", args{"scope": "/", "stages": []string{"pre", "post"}, "timeoutMs": 60000}, nil)
	id, waiting := model.start("task/kill", args{"token": tokenA, "id": "job-1"})
	model.call("tools/list", args{}, nil)
	model.notify("$/cancel_request", args{"requestId": rpc.RawID(id)})
	if r := model.await(waiting); r.err == nil || r.err.Code != rpc.CodeAborted || r.err.Message != "wait aborted" {
		t.Errorf("got %s, %v", r.result, r.err)
	}
}

// TestSpillPolicy pins T154: a policy that puts a preview and a notice in the
// place of a large text is a replacement like any other, within the task's cap
// and without a status line of ours.
func TestSpillPolicy(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	model, worker, policy := g.dial(), g.dial(), g.dial()
	for i, limit := range []int{1000, 40} {
		worker.registered(args{"token": tokenA, "kind": "job", "label": "l", "stream": true, "outputLimitBytes": limit})
		worker.call("task/append", args{"id": fmt.Sprintf("job-%d", i+1), "text": strings.Repeat("0123456789", 90)}, nil)
	}
	policy.answer["policy/post"] = func(params json.RawMessage) (any, *rpc.Error) {
		var p rpc.PolicyPost
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		text := p.Result.Content[0].Text
		return args{"decision": "accept", "content": []rpc.Content{rpc.Text(text[:10] + "\n[preview; the whole is in /tmp/spill]")}}, nil
	}
	policy.call("policy/attach", args{"scope": "/", "stages": []string{"post"}, "tools": []string{"task_output"}}, nil)
	for id, want := range map[string]string{
		"job-1": "0123456789\n[preview; the whole is in /tmp/spill]",
		"job-2": "whole is in /tmp/spill]"[2:] + "\n[result truncated]",
	} {
		if got := text(t, model.tool(tokenA, "task_output", args{"task_id": id})); got != want {
			t.Errorf("%s: got  %q\nwant %q", id, got, want)
		}
	}
}
