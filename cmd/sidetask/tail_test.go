package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"sidetask/rpc"
)

// spoolOf answers task/tail for a spool of which bytes [0,head) and [gap,len)
// are kept, in base64 as for any bytes.
func spoolOf(t *testing.T, text string, head, gap int64) caller {
	return func(_ context.Context, method string, params, result any) error {
		req, ok := params.(rpc.TaskTail)
		if method != rpc.MethodTaskTail || !ok {
			t.Fatalf("%s %v", method, params)
		}
		var offset int64
		if err := json.Unmarshal(req.Offset, &offset); err != nil {
			t.Fatal(err)
		}
		size := int64(len(text))
		if offset < 0 {
			offset = max(size+offset, 0)
		}
		lost := int64(0)
		if offset >= head && offset < gap {
			offset, lost = gap, gap-offset
		}
		end := min(offset+int64(req.MaxBytes), size)
		if offset < head {
			end = min(end, head)
		}
		*result.(*rpc.TaskTailResult) = rpc.TaskTailResult{
			Data: base64.StdEncoding.EncodeToString([]byte(text[offset:end])), Encoding: "base64",
			Offset: offset, Next: end, Lost: lost,
		}
		return nil
	}
}

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", chunkBytes+100) + "\n"
	many := strings.Repeat("line\n", chunkBytes) // several windows
	for _, test := range []struct {
		name, text string
		n          int
		want       string
	}{
		{"none asked", "a\nb\n", 0, ""},
		{"one", "a\nb\n", 1, "b\n"},
		{"all", "a\nb\n", 2, "a\nb\n"},
		{"more than there are", "a\nb\n", 9, "a\nb\n"},
		{"last line unfinished", "a\nb\nc", 2, "b\nc"},
		{"empty lines", "a\n\n\n", 2, "\n\n"},
		{"nothing", "", 3, ""},
		{"a line longer than a window", "a\n" + long, 1, long},
		{"over windows", many, chunkBytes - 7, strings.Repeat("line\n", chunkBytes-7)},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw, err := lastLines(t.Context(), spoolOf(t, test.text, 0, 0), "bash-1", test.n)
			if err != nil {
				t.Fatal(err)
			}
			var offset int64
			if err := json.Unmarshal(raw, &offset); err != nil {
				t.Fatal(err)
			}
			if got := test.text[offset:]; got != test.want {
				t.Errorf("%d bytes from %d on, want %d", len(got), offset, len(test.want))
			}
		})
	}
}

// Where the middle is gone (keepHeadBytes, spoolBytes) the newest part is what there is.
func TestLastLinesOverAGap(t *testing.T) {
	text := strings.Repeat("line\n", chunkBytes)
	gap := int64(len(text) - 5000)
	raw, err := lastLines(t.Context(), spoolOf(t, text, 1000, gap), "bash-1", 2000)
	if err != nil || string(raw) != string(number(gap)) {
		t.Errorf("lastLines = %s, %v; want %d", raw, err, gap)
	}
}
