package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// readAll looks at the lines of each read when the next one has come, and no later.
func readAll(t *rapid.T, r *Reader) (lines []Line) {
	var last []Line
	for {
		got, err := r.Read()
		for _, l := range last {
			l.Bytes = bytes.Clone(l.Bytes)
			lines = append(lines, l)
		}
		if last = got; err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) || len(got) > 0 {
			t.Fatalf("Read = %d lines, %v", len(got), err)
		}
		return lines
	}
}

// Whatever the reads give, the lines are the stream cut at 0x0A and nowhere
// else, and keep their bytes during the next one.
func TestReaderKeepsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "\n", "\r\n", "\u2028", "{\"x\":1}", strings.Repeat("long", 9000)}), 0, 30).Draw(t, "text")
		stream := strings.Join(text, "")
		var src io.Reader = strings.NewReader(stream)
		switch rapid.IntRange(0, 2).Draw(t, "reads") {
		case 0:
			src = iotest.DataErrReader(src)
		case 1:
			src = iotest.HalfReader(src)
		}
		var whole bytes.Buffer
		r := NewReader(src, "mark-", 'a')
		r.join = len(stream)
		for _, l := range readAll(t, r) {
			if l.Part {
				t.Fatal("a line in pieces")
			}
			if n := bytes.Count(l.Bytes, []byte("\n")); n > 1 || n == 1 && l.Bytes[len(l.Bytes)-1] != '\n' {
				t.Fatalf("no line: %q", l.Bytes)
			}
			whole.Write(l.Bytes)
		}
		if whole.String() != stream {
			t.Fatalf("got %d bytes, want %d", whole.Len(), len(stream))
		}
	})
}

// A line over the limit comes in pieces, the ones around it whole.
func TestReaderStreamsLongLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		long := strings.Repeat("x", rapid.IntRange(0, 400000).Draw(t, "length"))
		stream := "first\n" + long + "\nlast\n"
		r := NewReader(iotest.HalfReader(strings.NewReader(stream)), "mark-", 'a')
		r.max, r.join = 200000, 100000
		var whole bytes.Buffer
		pieces := 0
		for _, l := range readAll(t, r) {
			whole.Write(l.Bytes)
			if l.Part {
				pieces++
				if !l.More && !bytes.HasSuffix(l.Bytes, []byte("\n")) {
					t.Fatal("the last piece has no newline")
				}
			}
			if s := string(l.Bytes); l.Part && (s == "first\n" || s == "last\n") {
				t.Fatalf("%q in pieces", s)
			}
		}
		if whole.String() != stream {
			t.Fatal("the bytes differ")
		}
		if len(long) > 350000 && pieces < 2 {
			t.Fatalf("%d bytes in %d pieces", len(long), pieces)
		}
	})
}

// A stream that ends within a line gives what there is.
func TestReaderCut(t *testing.T) {
	r := NewReader(strings.NewReader("a\n{\"b"), "mark-", 'a')
	one, _ := r.Read()
	two, _ := r.Read()
	if len(one) != 1 || len(two) != 1 || string(two[0].Bytes) != "{\"b" {
		t.Errorf("got %+v and %+v", one, two)
	}
	if _, err := r.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("then %v, want EOF", err)
	}
}

// A long line comes as a digest that any edit may be made to; expanded, it
// is the line, whatever the blocks were.
func TestDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			`\\`, `\"`, `\ud83d\ude00`, `\n`, "\u2028", "\U0001f600", "a", strings.Repeat("x", 5000), strings.Repeat(`\\`, 3000), strings.Repeat("\u00e9", 3000), strings.Repeat(`\"`, 3001),
		}), 0, 30).Draw(t, "parts")
		long := strings.Repeat("y", rapid.IntRange(0, 300000).Draw(t, "length"))
		at := rapid.IntRange(0, len(parts)).Draw(t, "at")
		text := strings.Join(parts[:at], "") + long + strings.Join(parts[at:], "")
		line := `{"id":1,"params":{"a":"` + text + `","b":["` + strings.Join(parts, "") + `"],"c":"z"}}` + "\n"
		r := NewReader(iotest.HalfReader(strings.NewReader("{}\n"+line+"{}\n")), "mark-", 'a')
		r.join = 100000
		lines := readAll(t, r)
		if len(lines) != 3 {
			t.Fatalf("%d lines", len(lines))
		}
		gaps := NewGaps("mark-")
		gaps.Add(lines[1])
		short := lines[1].Bytes
		if len(long) > 200000 && len(short) > len(line)-len(long)/2 {
			t.Fatalf("the digest of %d bytes has %d", len(line), len(short))
		}
		if !json.Valid(short) {
			t.Fatalf("the digest is no JSON: %.200s", short)
		}
		if got := gaps.Size(short); got != len(line) {
			t.Fatalf("size %d, want %d", got, len(line))
		}
		e, ok := Scan(short)
		if !ok {
			t.Fatal("the digest is not understood")
		}
		short = Splice(short, Set(short, e.Params, Member{"c", []byte("7")}, Member{"d", []byte("8")})...)
		var got bytes.Buffer
		for _, p := range gaps.Expand(short) {
			got.Write(p.Bytes)
			Recycle(p)
		}
		want := strings.Replace(strings.Replace(line, `"c":"z"`, `"c":7`, 1), `"params":{`, `"params":{"d":8,`, 1)
		if got.String() != want {
			t.Fatal("the bytes differ")
		}
		if len(gaps.byMark) > 0 {
			t.Fatal("gaps are left")
		}
	})
}
