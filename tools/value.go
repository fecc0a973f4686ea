package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"sidetask/registry"
	"sidetask/render"
)

// Snapshot is the public snapshot of a task in values and policy requests
// (BEHAVIOUR T115): never its owner, its cap, or whether it is reported.
type Snapshot struct {
	ID         string  `json:"id"`
	Kind       string  `json:"kind"`
	Label      string  `json:"label"`
	Status     string  `json:"status"`
	Detail     *string `json:"detail,omitempty"`
	StartedAt  int64   `json:"startedAt"`
	FinishedAt *int64  `json:"finishedAt,omitempty"`
}

// SnapshotOf makes the public snapshot of a task.
func SnapshotOf(t registry.Task) Snapshot {
	s := Snapshot{ID: t.ID, Kind: t.Kind, Label: t.Label, Status: string(t.Status), Detail: t.Detail, StartedAt: t.StartedAt}
	if t.Status.Terminal() {
		s.FinishedAt = &t.FinishedAt
	}
	return s
}

func (s Snapshot) shown() render.Task {
	return render.Task{ID: s.ID, Kind: s.Kind, Label: s.Label, Status: s.Status, Detail: s.Detail}
}

// The canonical values of the tools (T115, T186).
type (
	startValue struct {
		Kind   string `json:"kind"` // "background"
		TaskID string `json:"taskId"`
	}
	outputValue struct {
		Text string   `json:"text"`
		Task Snapshot `json:"task"`
	}
	killValue struct {
		Outcome string   `json:"outcome"`
		Task    Snapshot `json:"task"`
	}
)

// The outcomes of a task_kill.
const (
	outcomeRequested = "cancellation-requested"
	outcomeFinished  = "already-finished"
)

// encodeValue writes a canonical value, its texts as they are.
func encodeValue(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // these types always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// rendering is a value with the text that it gives.
type rendering struct {
	value json.RawMessage
	// output is how a task_output is shown; nil for the other tools, whose text
	// is Text.
	output *render.OutputText
	text   string
}

// renderValue checks a value that a policy gave against the tool's schema
// (T116) and renders it as the tool would (T150, T151). older is not known
// for such a list.
func renderValue(name string, raw json.RawMessage) (rendering, error) {
	switch name {
	case Start:
		var v startValue
		if err := strict(raw, &v, "kind", "taskId"); err != nil {
			return rendering{}, err
		}
		return rendering{value: raw, text: render.Started(v.TaskID)}, nil
	case Output:
		var v outputValue
		if err := strict(raw, &v, "text", "task"); err != nil {
			return rendering{}, err
		}
		if err := v.Task.check(member(raw, "task")); err != nil {
			return rendering{}, err
		}
		return rendering{value: raw, output: &render.OutputText{Task: v.Task.shown(), Text: v.Text}}, nil
	case Kill:
		var v killValue
		if err := strict(raw, &v, "outcome", "task"); err != nil {
			return rendering{}, err
		}
		if v.Outcome != outcomeRequested && v.Outcome != outcomeFinished {
			return rendering{}, fmt.Errorf("outcome %q is none", v.Outcome)
		}
		if err := v.Task.check(member(raw, "task")); err != nil {
			return rendering{}, err
		}
		return rendering{value: raw, text: render.KillText(v.Task.shown(), v.Outcome == outcomeFinished)}, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return rendering{}, errors.New("must be an array of tasks")
	}
	shown := make([]render.Task, len(list))
	for i, one := range list {
		var s Snapshot
		if err := json.Unmarshal(one, &s); err != nil {
			return rendering{}, fmt.Errorf("item %d: %w", i, Plain(err))
		}
		if err := s.check(one); err != nil {
			return rendering{}, fmt.Errorf("item %d: %w", i, err)
		}
		shown[i] = s.shown()
	}
	return rendering{value: raw, text: render.List(shown, 0)}, nil
}

// check compares a snapshot that came from outside with its schema (T116).
func (s Snapshot) check(raw json.RawMessage) error {
	if err := strict(raw, &Snapshot{}, "id", "kind", "label", "status", "startedAt"); err != nil {
		return fmt.Errorf("task: %w", err)
	}
	switch registry.Status(s.Status) {
	case registry.Running, registry.Stopping, registry.Completed, registry.Killed, registry.Failed:
		return nil
	}
	return fmt.Errorf("task: status %q is none", s.Status)
}

// strict decodes a closed object that must have all of the named members.
func strict(raw json.RawMessage, into any, required ...string) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return errors.New("must be an object")
	}
	for _, name := range required {
		if v, ok := members[name]; !ok || string(v) == "null" {
			return fmt.Errorf("missing required property %q", name)
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return Plain(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

func member(raw json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // checked by strict
	return members[name]
}
