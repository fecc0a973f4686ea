package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"sidetask/registry"
)

// TestArgumentsAreExact: what a policy is told is what is executed. A second
// key in other letters is none of the tool's, and of the same key twice the
// last counts for everybody.
func TestArgumentsAreExact(t *testing.T) {
	for given, want := range map[string]struct{ told, text string }{
		`{"task_id":"bash-1","Task_ID":"bash-2"}`:      {`{"task_id":"bash-1"}`, "requested cancellation of task bash-1"},
		`{"TASK_ID":"bash-2","task_id":"bash-1"}`:      {`{"task_id":"bash-1"}`, "requested cancellation of task bash-1"},
		`{"task_id":"bash-1","taſk_id":"bash-2"}`:      {`{"task_id":"bash-1"}`, "requested cancellation of task bash-1"},
		`{"task_id":"bash-2","task\u005fid":"bash-1"}`: {`{"task_id":"bash-1"}`, "requested cancellation of task bash-1"},
		`{"Task_ID":"bash-2"}`:                         {`{}`, `Error: invalid arguments: missing required property "task_id"`},
		`{"task_id":"bash-1","why":1.50}`:              {`{"task_id":"bash-1","why":1.50}`, "requested cancellation of task bash-1"},
	} {
		b := newBench(t)
		b.start(nil)
		b.start(nil)
		var told PreRequest
		b.attach(answers{pre: func(r PreRequest) (PreAnswer, error) { told = r; return PreAnswer{Decision: "allow"}, nil }})
		if got := b.text(Kill, given); got != want.text {
			t.Errorf("%s: %q, want %q", given, got, want.text)
		}
		if string(told.Arguments) != want.told || (told.Task == nil) != strings.HasPrefix(want.text, "Error") {
			t.Errorf("%s: the policy is told %s about %+v, want %s", given, told.Arguments, told.Task, want.told)
		}
		if other, err := b.registry.Get(b.owner, "bash-2"); err != nil || other.Status != registry.Running {
			t.Errorf("%s: the other task: %+v, %v", given, other, err)
		}
	}
}

// TestStartArgumentsAreExact is the same for what is started and waited for.
func TestStartArgumentsAreExact(t *testing.T) {
	b := newBench(t)
	b.attach(answers{pre: func(r PreRequest) (PreAnswer, error) {
		if strings.Contains(string(r.Arguments), "evil") {
			return PreAnswer{Decision: "deny", Reason: "evil"}, nil
		}
		return PreAnswer{Decision: "allow"}, nil
	}})
	if got := b.text(Start, `{"command":"true","label":"good","Command":"evil","LABEL":"evil"}`); got != "started background task bash-1" {
		t.Error(got)
	}
	if task, err := b.registry.Get(b.owner, "bash-1"); err != nil || task.Label != "good" {
		t.Errorf("started %+v, %v", task, err)
	}
	waits := func() error { t.Error("it waits"); return nil }
	c := newBench(t)
	id := c.start(nil)
	only(t, c.call(context.Background(), Call{Name: Output, Arguments: json.RawMessage(`{"task_id":"` + id + `","Wait":true}`), Waits: waits}))
}
