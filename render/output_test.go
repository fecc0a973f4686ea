package render

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// The table's row on T194: a command's default cap names how much is left out
// and where to see it, and reserves room for 20 digits.
func TestOutputDefaultCap(t *testing.T) {
	detail := "exit code: 0"
	task := Task{ID: "bash-7", Kind: "bash", Status: "completed", Detail: &detail}
	text := strings.Repeat("0123456789", 100) + "\n"
	status := "\n[status: completed, exit code: 0]"
	whole := text[:1000] + status
	fixed := int64(len("\n[ bytes left out; see: sidetask tail bash-7]") + 20 + len(status))
	for _, limit := range []int64{1, 8, 36, fixed - 1, fixed, fixed + 1, 200, 1000, 1033, 1034, 1035} {
		kept := text[1000-min(1000, max(0, limit-fixed)) : 1000]
		line := func(leftOut int) string {
			return kept + fmt.Sprintf("\n[%d bytes left out; see: sidetask tail bash-7]", leftOut-len(kept)) + status
		}
		want := tail(line(1000), limit)
		if int64(len(whole)) <= limit {
			want = whole
		}
		o := OutputText{Task: task, Text: text, Limit: limit, Default: true}
		if got := Output(o); got != want || int64(len(got)) > limit {
			t.Errorf("limit %d: got %q, want %q", limit, got, want)
		}
		o.LeftOut = 5_000_000_000 // the same, whatever more stood in front
		if got, want := Output(o), tail(line(5_000_001_000), limit); got != want {
			t.Errorf("limit %d, with more in front: got %q, want %q", limit, got, want)
		}
	}
}

// A command's own marker is no reason to leave ours out under the default cap.
func TestOutputDefaultCapHasNoMarkerReuse(t *testing.T) {
	o := OutputText{Task: Task{ID: "bash-1", Status: "running"}, Text: strings.Repeat("x", 200) + "\n[output truncated]", Limit: 120, Default: true}
	if got := Output(o); !strings.Contains(got, "bytes left out; see: sidetask tail bash-1]") {
		t.Errorf("got %q", got)
	}
}

// T121: what was read is said even where nothing of it is kept.
func TestOutputEmpty(t *testing.T) {
	running := Task{ID: "bash-1", Status: "running"}
	if got := Output(OutputText{Task: running}); got != "(no new output)\n[status: running]" {
		t.Errorf("empty: %q", got)
	}
	if got := Output(OutputText{Task: running, LeftOut: 9, Limit: 100}); strings.Contains(got, "no new output") {
		t.Errorf("all left out: %q", got)
	}
}

// T138: what bounds say about their size holds for any text; T129, T130, T131:
// cuts are at code points.
func FuzzOutput(f *testing.F) {
	f.Add("a\u00e9\u20ac\U0001F600\n", "exit code: 0", int64(9), false)
	f.Add("x [output truncated]\n", "", int64(40), true)
	f.Add(strings.Repeat("\u754c", 70), "multi\nline", int64(100), true)
	f.Fuzz(func(t *testing.T, text, detail string, limit int64, def bool) {
		if !utf8.ValidString(text) || !utf8.ValidString(detail) || limit < 1 {
			return
		}
		task := Task{ID: "bash-1", Kind: "bash", Label: text, Status: "failed", Detail: &detail}
		bounded := map[string]string{
			"output": Output(OutputText{Task: task, Text: text, Limit: limit, Default: def}),
			"result": Bound(ErrorText(text), limit),
			"notice": Notice(task, limit),
		}
		for what, got := range bounded {
			if int64(len(got)) > limit || !utf8.ValidString(got) {
				t.Errorf("%s, limit %d: %d bytes, valid %v: %q", what, limit, len(got), utf8.ValidString(got), got)
			}
		}
		if out := bounded["output"]; limit > int64(len(StatusLine(task))) && !strings.HasSuffix(out, StatusLine(task)) {
			t.Errorf("limit %d: no status line at the end of %q", limit, out)
		}
		// A reader that gives only what Keep asks for changes nothing.
		if keep := Keep(limit); keep > 0 && int64(len(text)) > keep {
			end := tail(text, keep)
			got := Output(OutputText{Task: task, Text: end, LeftOut: int64(len(text) - len(end)), Limit: limit, Default: def})
			if got != bounded["output"] {
				t.Errorf("limit %d: %q with Keep, %q without", limit, got, bounded["output"])
			}
		}
	})
}

// The count in the marker of a default cap is exact.
func FuzzOutputCount(f *testing.F) {
	f.Add(strings.Repeat("\U0001F600", 60), int64(150))
	f.Fuzz(func(t *testing.T, text string, limit int64) {
		if !utf8.ValidString(text) || limit < 1 {
			return
		}
		task := Task{ID: "bash-1", Status: "running"}
		content := strings.TrimSuffix(text, "\n")
		got := Output(OutputText{Task: task, Text: text, Limit: limit, Default: true})
		if int64(len(content+"\n"+StatusLine(task))) <= limit || limit < 100 {
			return // not cut, or no room for marker and status line
		}
		cut := strings.LastIndex(got, "\n[")
		cut = strings.LastIndex(got[:cut], "\n[")
		want := leftOut(int64(len(content)-cut), "bash-1") + "\n" + StatusLine(task)
		if got[cut:] != want || !strings.HasSuffix(content, got[:cut]) {
			t.Errorf("limit %d: %q, want it to end in %q", limit, got, want)
		}
	})
}

// T127, T133, T134: whatever the pieces, the text is the same, within the budget, and
// the count of omitted bytes exact.
func FuzzRetainer(f *testing.F) {
	f.Add("a\u00e9\u20ac\U0001F600", 3, 5, 2)
	f.Add(strings.Repeat("\u754c", 40), 10, 0, 7)
	f.Fuzz(func(t *testing.T, text string, front, back, step int) {
		if !utf8.ValidString(text) || front < 0 || back < 0 || front > 1<<20 || back > 1<<20 || step < 1 {
			return
		}
		whole, err := NewRetainer(front, back)
		if err != nil {
			t.Fatal(err)
		}
		whole.Push(text)
		want, wantOmitted := whole.Text()
		pieces, _ := NewRetainer(front, back)
		for rest := text; rest != ""; {
			n := min(step, len(rest))
			pieces.Push(rest[:n])
			rest = rest[n:]
		}
		got, omitted := pieces.Text()
		if got != want || omitted != wantOmitted {
			t.Errorf("in pieces of %d: %q without %d, in one %q without %d", step, got, omitted, want, wantOmitted)
		}
		if !utf8.ValidString(got) || len(got) > front+back || int64(len(text)-len(got)) != omitted {
			t.Errorf("%d+%d: %q of %d bytes without %d", front, back, got, len(text), omitted)
		}
	})
}

// T127: a budget is a non-negative integer.
func TestRetainerRefusesNegativeBudgets(t *testing.T) {
	if _, err := NewRetainer(-1, 0); err == nil || err.Error() != "headBytes must be a non-negative integer" {
		t.Errorf("head: %v", err)
	}
	if _, err := NewRetainer(0, -1); err == nil || err.Error() != "tailBytes must be a non-negative integer" {
		t.Errorf("tail: %v", err)
	}
}

// T134: a tail keeps its window in memory, whatever the pieces; T135 (table): a
// BOM stays; T136: malformed bytes are U+FFFD.
func TestRetainerWindow(t *testing.T) {
	r, _ := NewRetainer(4, 100)
	for range 10_000 {
		r.Push("0123456789")
	}
	if cap(r.tail) > 1024 {
		t.Errorf("a window of 100 bytes holds %d", cap(r.tail))
	}
	bom, _ := NewRetainer(0, 4)
	bom.Push("12345\uFEFFa")
	if text, omitted := bom.Text(); text != "\uFEFFa" || omitted != 5 {
		t.Errorf("BOM: %q without %d", text, omitted)
	}
	bad, _ := NewRetainer(10, 10)
	bad.Push("a\xffb")
	if text, _ := bad.Text(); text != "a\uFFFDb" {
		t.Errorf("malformed: %q", text)
	}
}
