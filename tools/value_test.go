package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRenderValue pins T115, T116, T150: a value that a policy gives is checked
// against the closed schema and shown as the tool shows its own.
func TestRenderValue(t *testing.T) {
	const task = `{"id":"bash-1","kind":"bash","label":"l","status":"running","startedAt":1}`
	for _, c := range []struct{ tool, value, text, err string }{
		{Start, `{"kind":"background","taskId":"bash-1"}`, "started background task bash-1", ""},
		{Start, `{"kind":"background"}`, "", `missing required property "taskId"`},
		{Start, `[]`, "", "must be an object"},
		{Kill, `{"outcome":"already-finished","task":` + strings.Replace(task, `"running"`, `"failed","detail":"d","finishedAt":2`, 1) + `}`, "task bash-1 had already finished [status: failed, d]", ""},
		{Kill, `{"outcome":"cancellation-requested","task":` + task + `}`, "requested cancellation of task bash-1", ""},
		{Kill, `{"outcome":"done","task":` + task + `}`, "", `outcome "done" is none`},
		{List, `[]`, "(no background tasks)", ""},
		{List, `[` + task + `]`, "bash-1 [bash] running — l", ""},
		{List, `null`, "", "must be an array of tasks"},
		{List, `[1]`, "", "item 0: "},
		{List, `[` + task + `,` + strings.Replace(task, "running", "asleep", 1) + `]`, "", `item 1: task: status "asleep" is none`},
		{Output, `{"text":"x","task":` + task + `}`, "", ""},
		{Output, `{"text":1,"task":` + task + `}`, "", `"text" cannot be a number`},
		{Output, `{"text":"x","task":` + task + `,"more":1}`, "", `unknown field "more"`},
		{Output, `{"text":"x","task":` + strings.Replace(task, `"startedAt":1`, `"startedAt":1.5`, 1) + `}`, "", `"task.startedAt" cannot be a number 1.5`},
		{Output, `{"text":"x","task":` + strings.Replace(task, `,"startedAt":1`, ``, 1) + `}`, "", `task: missing required property "startedAt"`},
		{Output, `{"text":"x","task":` + strings.Replace(task, `"l"`, `"l","reported":true`, 1) + `}`, "", `unknown field "reported"`},
		{Output, `{"text":"x","task":null}`, "", `missing required property "task"`},
	} {
		got, err := renderValue(c.tool, json.RawMessage(c.value))
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s %s: %v, want %q", c.tool, c.value, err, c.err)
		case got.text != c.text:
			t.Errorf("%s %s: %q, want %q", c.tool, c.value, got.text, c.text)
		}
	}
}

// TestBlock: a plain text block is a text, everything else stays as it came.
func TestBlock(t *testing.T) {
	for in, text := range map[string]string{
		`{"type":"text","text":"x"}`:               "x",
		`{"type":"text","text":"x","more":true}`:   "",
		`{"type":"reasoning","text":"x"}`:          "",
		`{"type":"image","data":"aGk=","z":[1.0]}`: "",
	} {
		var b Block
		if err := json.Unmarshal([]byte(in), &b); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		out, err := json.Marshal(b)
		if err != nil || string(out) != in || b.Text != text {
			t.Errorf("%s: %s, text %q, %v", in, out, b.Text, err)
		}
	}
	for _, bad := range []string{`null`, `"x"`, `{}`, `{"text":"x"}`} {
		var b Block
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s is taken for a block", bad)
		}
	}
}
