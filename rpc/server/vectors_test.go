package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sidetask/registry"
	"sidetask/render"
	"sidetask/rpc"
)

// vectors reads one file of outputs observed at the reference system.
func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "render", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []T }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) == 0 {
		t.Fatalf("%s: no vectors", name)
	}
	return file.Vectors
}

// memory is a store that begins with these counters and forgets: a vector
// wants a task of an id of its own.
type memory struct{ counters map[string]int64 }

func (m memory) Load() (*registry.State, error) {
	return &registry.State{Counters: m.counters}, nil
}
func (memory) Commit(registry.Change) error { return nil }
func (memory) Close() error                 { return nil }

// uncapped is the configuration for vectors: no cap but the tasks' own.
const uncapped = "[commands]\noutputLimitBytes = 0\n"

// fresh runs f with a daemon whose next task of that kind gets number n.
func fresh(t *testing.T, name, kind string, n int64, f func(t *testing.T, g *rig)) {
	t.Run(name, func(t *testing.T) {
		g := &rig{t: t, dir: t.TempDir(), store: memory{map[string]int64{kind: n - 1}}}
		g.start(uncapped)
		t.Cleanup(g.stop)
		f(t, g)
	})
}

func withLimit(params args, limit *int64) args {
	if limit != nil {
		params["outputLimitBytes"] = *limit
	}
	return params
}

// TestVectorsTaskOutput pins T31, T32, T120, T121, T137 to T142 through the
// real pipeline, as a stream task and, where it has ended, as a final one.
func TestVectorsTaskOutput(t *testing.T) {
	type vector struct {
		I                            int
		Name, Text, Status, Expected string
		Detail                       *string
		Limit                        *int64
	}
	g := &rig{t: t, dir: t.TempDir(), store: memory{}}
	g.start(uncapped)
	t.Cleanup(g.stop)
	g.host(tokenA, "s")
	model, worker := g.dial(), g.dial()
	worker.answer["task/cancel"] = func(json.RawMessage) (any, *rpc.Error) { return struct{}{}, nil }
	for _, v := range vectors[vector](t, "task_output") {
		for _, stream := range []bool{true, false} {
			terminal := v.Status != "running" && v.Status != "stopping"
			if !terminal && !stream || !terminal && v.Detail != nil {
				continue // a live task has no final text, and no detail of its own
			}
			id := worker.registered(withLimit(args{"token": tokenA, "kind": "bash", "label": "sleep 60", "stream": stream}, v.Limit)).Task.ID
			settle := args{"id": id, "status": v.Status}
			if v.Detail != nil {
				settle["detail"] = *v.Detail
			}
			if stream {
				worker.call("task/append", args{"id": id, "text": v.Text}, nil)
			} else {
				settle["output"] = v.Text
			}
			switch {
			case terminal:
				worker.call("task/settle", settle, nil)
			case v.Status == "stopping":
				model.call("task/kill", args{"token": tokenA, "id": id}, nil)
			}
			got := model.tool(tokenA, "task_output", args{"task_id": id})
			if text := text(t, got); text != v.Expected || got.IsError {
				t.Errorf("vector %d (%s, stream %v): got %q, want %q", v.I, v.Name, stream, text, v.Expected)
			}
			if !terminal { // make room for the next
				worker.call("task/settle", args{"id": id, "status": "completed"}, nil)
			}
		}
	}
}

// TestVectorsNotices pins T155 to T161 from the end of a task to the claim.
func TestVectorsNotices(t *testing.T) {
	type vector struct {
		I, N                                       int
		ID, Kind, Label, Status, Expected, Summary string
		Detail                                     *string
		Limit                                      *int64
	}
	for _, v := range vectors[vector](t, "notices") {
		fresh(t, fmt.Sprint(v.I), v.Kind, int64(v.N), func(t *testing.T, g *rig) {
			host, worker := g.host(tokenA, "s"), g.dial()
			task := worker.registered(withLimit(args{"token": tokenA, "kind": v.Kind, "label": v.Label, "stream": true}, v.Limit)).Task
			if task.ID != v.ID {
				t.Fatalf("the task is %s, want %s", task.ID, v.ID)
			}
			settle := args{"id": task.ID, "status": v.Status}
			if v.Detail != nil {
				settle["detail"] = *v.Detail
			}
			worker.call("task/settle", settle, nil)
			var claim rpc.InboxClaimed
			host.call("inbox/claim", args{"token": tokenA, "reason": "turn-end"}, &claim)
			if len(claim.Notices) != 1 {
				t.Fatalf("claim %+v", claim)
			}
			// Labels are shown on one line (the table's row on T124).
			clean := strings.NewReplacer(v.Label, render.Label(v.Label), "with\n", "with ", "tab\t", "tab ")
			if got, want := claim.Notices[0].Text, clean.Replace(v.Expected); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			// Ours never has half a surrogate pair (the table's row on T161).
			summary := strings.Replace(clean.Replace(v.Summary), "\uFFFD…", "…", 1)
			if got := claim.Notices[0].Summary; got != summary {
				t.Errorf("summary %q, want %q", got, summary)
			}
		})
	}
}

// errorVector is a vector of errors.json.
type errorVector struct {
	I                              int
	Case, Message, Reason, Content string
	Tool, Status                   string
	Detail                         *string
	Limit                          *int64
	Args, Value, Feedback          json.RawMessage
	Expected                       struct {
		IsError bool
		Content json.RawMessage
	}
}

// TestVectorsErrors pins T34, T40, T117, T118, T125, T126, T137 to T153: what
// producers and policies may do to a call, all over the socket.
func TestVectorsErrors(t *testing.T) {
	for _, v := range vectors[errorVector](t, "errors") {
		fresh(t, fmt.Sprintf("%d %s", v.I, v.Case), "bash", 1, func(t *testing.T, g *rig) {
			g.host(tokenA, "s")
			model, worker, policy := g.dial(), g.dial(), g.dial()
			arguments := v.prepare(g, worker, policy)
			var got rpc.ToolsCallResult
			model.call("tools/call", args{"token": tokenA, "name": v.Tool, "arguments": arguments}, &got)
			content, err := json.Marshal(got.Content)
			g.check(err)
			if diff := cmp.Diff(decoded(t, v.Expected.Content), decoded(t, content)); diff != "" || got.IsError != v.Expected.IsError {
				t.Errorf("isError %v, want %v; content (-want +got)\n%s", got.IsError, v.Expected.IsError, diff)
			}
		})
	}
}

func decoded(t *testing.T, raw []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// prepare makes the task and whoever is to disturb the call, and gives the
// call's arguments.
func (v errorVector) prepare(g *rig, worker, policy *client) any {
	cancel := &rpc.Error{Code: 1, Message: v.Message}
	if v.Case != "cancel-throws" {
		cancel = nil
	}
	worker.answer["task/cancel"] = func(json.RawMessage) (any, *rpc.Error) { return struct{}{}, cancel }
	if v.Case == "read-throws" { // a producer in the process
		g.commands.readError = errors.New(v.Message)
		worker.call("task/start", withLimit(args{"token": tokenA, "command": "sleep 60"}, v.Limit), nil)
		return args{"task_id": "bash-1"}
	}
	worker.registered(withLimit(args{"token": tokenA, "kind": "bash", "label": "sleep 60", "stream": true}, v.Limit))
	if v.Case == "kill-finished" {
		settle := args{"id": "bash-1", "status": v.Status}
		if v.Detail != nil {
			settle["detail"] = *v.Detail
		}
		worker.call("task/settle", settle, nil)
	}
	v.attach(policy)
	if v.Case == "arguments" {
		worker.call("task/append", args{"id": "bash-1", "text": "x"}, nil)
		return v.Args
	}
	return args{"task_id": "bash-1"}
}

// attach makes the policy of a vector, if it has one. An around hook of the
// reference is a policy/pre here.
func (v errorVector) attach(policy *client) {
	answer := func(a any) func(json.RawMessage) (any, *rpc.Error) {
		return func(json.RawMessage) (any, *rpc.Error) { return a, nil }
	}
	throws := func(json.RawMessage) (any, *rpc.Error) { return nil, &rpc.Error{Code: 1, Message: v.Message} }
	text := func(texts ...string) (blocks []rpc.Content) {
		for _, s := range texts {
			blocks = append(blocks, rpc.Text(s))
		}
		return blocks
	}
	var many []string
	var one string
	_ = json.Unmarshal(v.Feedback, &many) // a list in one case, a text in the others
	_ = json.Unmarshal(v.Feedback, &one)
	stage := map[string]func(json.RawMessage) (any, *rpc.Error){
		"pre-deny":                  answer(args{"decision": "deny", "reason": v.Reason}),
		"pre-throw":                 throws,
		"around-throw":              throws,
		"around-value":              answer(args{"decision": "value", "value": v.Value}),
		"post-throw":                throws,
		"post-accept-content":       answer(args{"decision": "accept", "content": text(v.Content)}),
		"post-accept-value":         answer(args{"decision": "accept", "value": v.Value}),
		"post-block":                answer(args{"decision": "block", "content": text(one)}),
		"post-block-multi":          answer(args{"decision": "block", "content": text(many...)}),
		"post-block-empty":          answer(args{"decision": "block", "content": []any{}}),
		"post-block-reasoning":      answer(args{"decision": "block", "content": []any{args{"type": "reasoning", "text": one}}}),
		"post-accept-content-multi": answer(args{"decision": "accept", "content": v.Expected.Content}),
	}[v.Case]
	if stage == nil {
		return
	}
	when := "pre"
	if strings.HasPrefix(v.Case, "post") {
		when = "post"
	}
	policy.answer["policy/"+when] = stage
	policy.call("policy/attach", args{"scope": "/", "stages": []string{when}}, nil)
}
