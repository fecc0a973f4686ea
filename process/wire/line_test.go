package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestLine: what is written is read again, whatever is in it, and a line that
// was cut off anywhere is none.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
		number := rapid.Int64()
		j := Job{
			Format: Format, Row: number.Draw(t, "row"), Dir: bytes.Draw(t, "dir"), Argv: rapid.SliceOfN(bytes, 1, 3).Draw(t, "argv"),
			Env: rapid.SliceOfN(bytes, 1, 5).Draw(t, "env"), Stdin: rapid.Bool().Draw(t, "stdin"), Cols: rapid.Int().Draw(t, "cols"),
		}
		line := Encode(&j)
		var back Job
		if err := Decode(line, &back); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if diff := cmp.Diff(j, back); diff != "" {
			t.Fatal(diff)
		}
		cut := rapid.IntRange(0, len(line)-1).Draw(t, "cut")
		if Decode(line[:cut], new(Job)) == nil {
			t.Fatalf("a cut line was taken for a whole one: %q", line[:cut])
		}
		zero := int64(0)
		for _, grace := range []*int64{nil, &zero} { // "at once" and "as the job says" differ
			r, back := Request{Op: OpStop, GraceMs: grace}, Request{}
			if err := Decode(Encode(&r), &back); err != nil || !cmp.Equal(r, back) {
				t.Fatalf("%+v came back as %+v, %v", r, back, err)
			}
		}
	})
}

// FuzzLine: a line of anybody's is read without harm, and what was understood of
// it can be written and read again.
func FuzzLine(f *testing.F) {
	f.Add("format=2 row=7 argv=\"sh\" argv=\"-c\" later=5 stdin=true\n")
	f.Add("format=2 dir=\"\\xff\\n\"\n")
	f.Add("=\n")
	f.Add("dir=\"\n")
	f.Fuzz(func(t *testing.T, line string) {
		var j, back Job
		if Decode([]byte(line), &j) != nil {
			return
		}
		again := Encode(&j)
		if strings.Count(string(again), "\n") != 1 {
			t.Fatalf("%q is not one line", again)
		}
		if err := Decode(again, &back); err != nil || !cmp.Equal(j, back) {
			t.Fatalf("%q: %+v, then %+v (%v)", line, j, back, err)
		}
	})
}
