package server

import (
	"encoding/json"
	"strings"
	"testing"

	"sidetask/rpc"
)

const heldElsewhere = "task job-1 is held by another connection; task/resume with its key takes it over"

func (c *client) status(id string) rpc.Task {
	c.t.Helper()
	var got rpc.TaskResult
	c.call("task/get", args{"id": id}, &got)
	return got.Task
}

// TestProducerResumes pins T18: a task outlives what registered it. A producer that lost its connection comes back with its
// key, also to another daemon; what it appended is kept.
func TestProducerResumes(t *testing.T) {
	g := newRig(t, "")
	first, looker := g.dial(), g.dial()
	task := first.registered(args{"kind": "job", "label": "work", "stream": true})
	first.call("task/append", args{"id": "job-1", "text": "one\n"}, nil)
	first.close()

	second := g.dial()
	second.refused(rpc.CodeUnauthorized, heldElsewhere, "task/append", args{"id": "job-1", "text": "x"})
	second.refused(rpc.CodeUnauthorized, "that is not the key of task job-1", "task/resume", args{"id": "job-1", "key": task.Key[1:]})
	second.call("task/resume", args{"id": "job-1", "key": task.Key}, nil)
	second.call("task/append", args{"id": "job-1", "text": "two\n"}, nil)
	looker.close()
	second.close()

	g.restart()
	third := g.dial()
	if got := third.status("job-1"); got.Status != rpc.StatusRunning {
		t.Errorf("after the restart it is %+v", got)
	}
	third.call("task/resume", args{"id": "job-1", "key": task.Key}, nil)
	third.call("task/append", args{"id": "job-1", "text": "three\n"}, nil)
	third.call("task/settle", args{"id": "job-1", "status": "completed", "detail": "done"}, nil)
	third.call("task/settle", args{"id": "job-1", "status": "failed"}, nil) // T59: ignored
	var out rpc.TaskOutputResult
	third.call("task/output", args{"id": "job-1"}, &out)
	if out.Text != "one\ntwo\nthree\n" || out.Task.Status != rpc.StatusCompleted || *out.Task.Detail != "done" {
		t.Errorf("got %+v", out)
	}
	third.refused(rpc.CodeInvalidParams, "task job-1 has ended", "task/append", args{"id": "job-1", "text": "x"})
	third.refused(rpc.CodeInvalidParams, "task job-1 has ended", "task/resume", args{"id": "job-1", "key": task.Key})

	g.restart()
	fourth := g.dial()
	fourth.call("task/output", args{"id": "job-1", "from": "start"}, &out)
	if out.Text != "one\ntwo\nthree\n" {
		t.Errorf("after its end and a restart: %q", out.Text)
	}
}

// TestProducerDisconnected: after owners.producerGraceMs a task is failed, and
// its owner told.
func TestProducerDisconnected(t *testing.T) {
	for _, restart := range []bool{false, true} {
		g := newRig(t, "[owners]\nproducerGraceMs = 50\n")
		worker := g.dial()
		worker.registered(args{"kind": "job", "label": "work", "stream": true})
		if restart {
			g.restart()
		} else {
			worker.close()
		}
		c := g.dial()
		var got rpc.TaskResult
		c.call("task/wait", args{"id": "job-1", "timeoutMs": 60000}, &got)
		if got.Task.Status != rpc.StatusFailed || got.Task.Detail == nil || *got.Task.Detail != "producer disconnected" {
			t.Errorf("restart %v: %+v", restart, got.Task)
		}
	}
}

// TestProducerCancel pins T37, T40, T41 with a producer at the other end of the
// socket: its error is "the cancel threw", silence means stopping, a lost
// producer cannot be asked, a settlement within the cancel wins.
func TestProducerCancel(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	worker, c := g.dial(), g.dial()
	var reasons []*string
	var failure *rpc.Error
	worker.answer["task/cancel"] = func(params json.RawMessage) (any, *rpc.Error) {
		var p rpc.TaskCancel
		if err := json.Unmarshal(params, &p); err != nil || p.ID != "job-1" {
			t.Errorf("asked %s, %v", params, err)
		}
		reasons = append(reasons, p.Reason)
		return struct{}{}, failure
	}
	task := worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": true})
	failure = &rpc.Error{Code: 1, Message: "cannot"}
	c.refused(rpc.CodeProducerFailed, "cannot", "task/kill", args{"token": tokenA, "id": "job-1"})
	if got := c.status("job-1"); got.Status != rpc.StatusRunning || got.Operator.Reported {
		t.Errorf("after a cancel that threw: %+v", got)
	}
	failure = nil
	var killed rpc.TaskKillResult
	c.call("task/kill", args{"token": tokenA, "id": "job-1", "reason": "why"}, &killed)
	if killed.Outcome != rpc.KillRequested || killed.Task.Status != rpc.StatusStopping || len(killed.Content) != 1 || killed.Content[0].Text != "requested cancellation of task job-1" {
		t.Errorf("got %+v", killed)
	}
	if len(reasons) != 2 || reasons[0] != nil || reasons[1] == nil || *reasons[1] != "why" {
		t.Errorf("reasons %v", reasons)
	}
	lost := g.dial()
	lost.call("tools/list", args{}, nil)
	worker.close()
	<-g.ended
	c.refused(rpc.CodeProducerFailed, "producer disconnected", "task/kill", args{"token": tokenA, "id": "job-1"})
	var resumed rpc.TaskResult
	lost.call("task/resume", args{"id": "job-1", "key": task.Key}, &resumed)
	if resumed.Task.Status != rpc.StatusStopping {
		t.Errorf("who resumes is not told that it is to stop: %+v", resumed.Task)
	}
	lost.answer["task/cancel"] = nil // silence
	c.call("task/kill", args{"token": tokenA, "id": "job-1"}, nil)
	lost.call("task/settle", args{"id": "job-1", "status": "killed"}, nil)
	c.call("task/kill", args{"token": tokenA, "id": "job-1"}, &killed)
	if killed.Outcome != rpc.KillAlreadyFinished || killed.Content[0].Text != "task job-1 had already finished [status: killed]" {
		t.Errorf("got %+v", killed)
	}
}

// TestKilledByTheUser: a task that the operator kills still gives its owner a
// notice, and the detail says who it was.
func TestKilledByTheUser(t *testing.T) {
	g := newRig(t, "")
	host := g.host(tokenA, "s")
	worker, operator := g.dial(), g.dial()
	worker.answer["task/cancel"] = func(json.RawMessage) (any, *rpc.Error) { return struct{}{}, nil }
	worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": true})
	operator.call("task/kill", args{"id": "job-1"}, nil)
	worker.call("task/settle", args{"id": "job-1", "status": "killed"}, nil)
	host.heard("inbox/pending", nil)
	var claim rpc.InboxClaimed
	host.call("inbox/claim", args{"token": tokenA, "reason": "wake"}, &claim)
	if want := "background task job-1 (job: work) finished [status: killed, killed by the user]. Read its output with task_output."; len(claim.Notices) != 1 || claim.Notices[0].Text != want {
		t.Errorf("got %+v", claim.Notices)
	}
}

// TestFinalTask pins T2, T3, T32: nothing while live, then the output any number of
// times; the two kinds of tasks take their text in one way each.
func TestFinalTask(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	worker, model := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": false})
	worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": true})
	worker.refused(rpc.CodeInvalidParams, "task job-1 is a final-output task: its text is the output of task/settle", "task/append", args{"id": "job-1", "text": "x"})
	worker.refused(rpc.CodeInvalidParams, "task job-2 is a stream task: its text is given with task/append", "task/settle", args{"id": "job-2", "status": "completed", "output": "x"})
	if got := text(t, model.tool(tokenA, "task_output", args{"task_id": "job-1"})); got != "(no new output)\n[status: running]" {
		t.Errorf("live: %q", got)
	}
	worker.call("task/settle", args{"id": "job-1", "status": "failed", "detail": "", "output": "the answer"}, nil)
	for range 2 {
		if got := text(t, model.tool(tokenA, "task_output", args{"task_id": "job-1"})); got != "the answer\n[status: failed, ]" {
			t.Errorf("ended: %q", got)
		}
	}
	g.restart()
	model = g.dial()
	g.host(tokenA, "s")
	if got := text(t, model.tool(tokenA, "task_output", args{"task_id": "job-1"})); got != "the answer\n[status: failed, ]" {
		t.Errorf("after a restart: %q", got)
	}
}

// TestUntil: a wait ends when new output matches, also across two pieces, and
// the read that follows gives it (the table's row on T111).
func TestUntil(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	worker, model := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "job", "label": "work", "stream": true})
	worker.call("task/append", args{"id": "job-1", "text": "ready to go\n"}, nil)
	for range 2 { // consumed: it does not count; the second read sees that the first is final
		model.tool(tokenA, "task_output", args{"task_id": "job-1"})
	}
	_, waiting := model.start("tools/call", args{"token": tokenA, "name": "task_output", "arguments": args{"task_id": "job-1", "wait": true, "until": "rea+dy"}})
	model.call("tools/list", args{}, nil)
	worker.call("task/append", args{"id": "job-1", "text": "not yet\nre"}, nil)
	select {
	case r := <-waiting:
		t.Fatalf("it ended before: %s", r.result)
	default:
	}
	worker.call("task/append", args{"id": "job-1", "text": "aady\nmore"}, nil)
	var got rpc.ToolsCallResult
	if err := json.Unmarshal(model.await(waiting).result, &got); err != nil {
		t.Fatal(err)
	}
	if s := text(t, got); !strings.HasPrefix(s, "not yet\nreaady\n") || !strings.HasSuffix(s, "[status: running]") {
		t.Errorf("got %q", s)
	}
}

// TestTail: independent readers by offset; text as text, all else in base64;
// follow waits for a byte or the end.
func TestTail(t *testing.T) {
	g := newRig(t, "")
	worker, c := g.dial(), g.dial()
	worker.registered(args{"kind": "job", "label": "work", "stream": true})
	worker.call("task/append", args{"id": "job-1", "text": "a€b\n"}, nil) // 6 bytes
	for _, x := range []struct {
		params args
		want   rpc.TaskTailResult
	}{
		{args{}, rpc.TaskTailResult{Data: "a€b\n", Encoding: "utf-8", Next: 6}},
		{args{"offset": 1, "maxBytes": 3}, rpc.TaskTailResult{Data: "€", Encoding: "utf-8", Offset: 1, Next: 4}},
		{args{"maxBytes": 3}, rpc.TaskTailResult{Data: "a", Encoding: "utf-8", Next: 1}},
		{args{"offset": 2, "maxBytes": 2}, rpc.TaskTailResult{Data: "gqw=", Encoding: "base64", Offset: 2, Next: 4}},
		{args{"offset": -2}, rpc.TaskTailResult{Data: "b\n", Encoding: "utf-8", Offset: 4, Next: 6}},
		{args{"offset": -200}, rpc.TaskTailResult{Data: "a€b\n", Encoding: "utf-8", Next: 6}},
		{args{"offset": "end"}, rpc.TaskTailResult{Encoding: "utf-8", Offset: 6, Next: 6}},
	} {
		x.params["id"] = "job-1"
		var got rpc.TaskTailResult
		c.call("task/tail", x.params, &got)
		if got != x.want {
			t.Errorf("%v: got %+v, want %+v", x.params, got, x.want)
		}
	}
	c.refused(rpc.CodeInvalidParams, "a task of an outside producer takes no input", "task/write", args{"id": "job-1", "data": "x"})
	follow := func() <-chan reply {
		_, r := c.start("task/tail", args{"id": "job-1", "offset": 6, "follow": true})
		c.call("tools/list", args{}, nil)
		return r
	}
	waiting := follow()
	worker.call("task/append", args{"id": "job-1", "text": "more"}, nil)
	var got rpc.TaskTailResult
	if err := json.Unmarshal(c.await(waiting).result, &got); err != nil || got.Data != "more" || got.EOF {
		t.Errorf("followed %+v, %v", got, err)
	}
	_, waiting = c.start("task/tail", args{"id": "job-1", "offset": "end", "follow": true})
	c.call("tools/list", args{}, nil)
	worker.call("task/settle", args{"id": "job-1", "status": "completed"}, nil)
	if err := json.Unmarshal(c.await(waiting).result, &got); err != nil || got.Data != "" || !got.EOF {
		t.Errorf("at the end %+v, %v", got, err)
	}
	c.call("task/tail", args{"id": "job-1", "offset": 6}, &got)
	if got.Data != "more" || !got.EOF {
		t.Errorf("afterwards %+v", got)
	}
	c.refused(rpc.CodeInvalidParams, "this task has one stream only", "task/tail", args{"id": "job-1", "stream": "stderr"})
}

// TestProducerOfOneLine: a producer that ended its input cannot report any
// more: its connection ends with the answer (socat would sit there), and the
// key takes the task on.
func TestProducerOfOneLine(t *testing.T) {
	g := newRig(t, "")
	nc := g.dial()
	task := nc.registered(args{"kind": "job", "label": "work", "stream": true})
	if err := nc.nc.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	<-nc.ended
	next := g.dial()
	next.call("task/resume", args{"id": "job-1", "key": task.Key}, nil)
	next.call("task/settle", args{"id": "job-1", "status": "completed"}, nil)
}
