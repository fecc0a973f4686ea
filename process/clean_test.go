package process

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// cleanWhole cleans output in one piece.
func cleanWhole(raw []byte, keep int64, utf8Only bool) (string, int64) {
	c := newCleaner(keep, utf8Only)
	c.write(raw)
	return c.finish(true)
}

// TestClean pins what a model sees of raw output (FIELD, output content).
func TestClean(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"plain", "hello\nworld\n", "hello\nworld\n"},
		{"no newline at the end", "hello", "hello"},
		{"tabs and Unicode", "\tgrüße 🎉\n", "\tgrüße 🎉\n"},
		{"colour", "\x1b[31mred\x1b[0m \x1b[1;38;5;12mblue\x1b[m\n", "red blue\n"},
		{"CSI without digits", "a\x1b[Kb\x1b[Jc\n", "abc\n"},
		{"private CSI", "\x1b[?25lx\x1b[?25h\x1b[>4;2my\n", "xy\n"},
		{"OSC with BEL", "\x1b]0;title\x07x\n", "x\n"},
		{"OSC with ST", "\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\\n", "link\n"},
		{"DCS, APC, PM, SOS", "\x1bPq#0\x1b\\a\x1b_Gf=1\x1b\\b\x1b^x\x1b\\c\x1bXy\x1b\\d\n", "abcd\n"},
		{"charset, keypad, save", "\x1b(B\x1b=\x1b7x\x1b8\x1b>\n", "x\n"},
		{"eight-bit CSI as UTF-8", "a\u009b31mb\n", "ab\n"},
		{"unterminated OSC", "a\x1b]0;title\nb\n", "a\nb\n"},
		{"sequence broken by another", "\x1b[3\x1b[31mx\n", "x\n"},
		{"sequence broken by a newline", "\x1b[3\nx\n", "\nx\n"},
		{"sequence cancelled", "\x1b[3\x18x\n", "x\n"},
		{"sequence cut off at the end", "x\x1b[3", "x"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"progress", "10%\r20%\r100%\ndone\n", "100%\ndone\n"},
		{"FIELD: first, second, third", "first\rsecond\nthird\n", "second\nthird\n"},
		{"progress ends with CRLF", "10%\r20%\r\r\n", "20%\n"},
		{"CR at the end", "10%\r20%\r", "20%"},
		{"progress erased", "working\r\x1b[Kdone\n", "done\n"},
		{"erased and nothing printed", "working\r\x1b[K\n", "\n"},
		{"erase line, column one", "a 1\x1b[2K\x1b[1Ga 2\x1b[2K\x1b[Ga 3\n", "a 3\n"},
		{"spinner", "|\b/\b-\b\\\b done\n", " done\n"},
		{"overstrike", "N\bNA\bA_\bx\n", "NAx\n"},
		{"backspace at the beginning", "a\n\bb\n", "a\nb\n"},
		{"NUL", "a\x00b\n", "a␀b\n"},
		{"other controls", "\x01\x1f\x7f\n", "␁␟␡\n"},
		{"bell and shifts", "a\x07\x0e\x0fb\n", "ab\n"},
		{"invalid bytes", "a\xff\xfeb\n", "a��b\n[2 bytes were not valid UTF-8, shown as U+FFFD]\n"},
		{"a cut character", "a\xe2\x82", "a��\n[2 bytes were not valid UTF-8, shown as U+FFFD]\n"},
		{"a cut character in the middle", "\xf0\x9f\x8ex\n", "���x\n[3 bytes were not valid UTF-8, shown as U+FFFD]\n"},
		{"a real U+FFFD", "\uFFFD\n", "\uFFFD\n"},
		{"surrogate, overlong, too large", "\xed\xa0\x80 \xc0\x80 \xf5\x80\x80\x80\n", "��� �� ����\n[9 bytes were not valid UTF-8, shown as U+FFFD]\n"},
		{"byte order mark", "\ufeffx\n", "\ufeffx\n"},
	} {
		if got, leftOut := cleanWhole([]byte(c.raw), 0, false); got != c.want || leftOut != 0 {
			t.Errorf("%s: %q became %q (%d left out), want %q", c.name, c.raw, got, leftOut, c.want)
		}
	}
}

// TestRepairOnly: with cleanOutput = false only UTF-8 is repaired.
func TestRepairOnly(t *testing.T) {
	raw := "a\x1b[31mb\rc\x00\b\n\u009bé\xff"
	want := "a\x1b[31mb\rc\x00\b\n\u009bé\uFFFD\n[1 bytes were not valid UTF-8, shown as U+FFFD]\n"
	if got, _ := cleanWhole([]byte(raw), 0, true); got != want {
		t.Errorf("%q became %q, want %q", raw, got, want)
	}
}

// TestBounded: of a long text the end is kept, from a whole character on, and
// what is left out is counted to the byte, also where lines are overwritten.
func TestBounded(t *testing.T) {
	for _, c := range []struct {
		raw     string
		keep    int64
		want    string
		leftOut int64
	}{
		{"abcdef", 4, "cdef", 2},
		{"ab\ncdef\n", 4, "def\n", 4},
		{strings.Repeat("x", 1000) + "\ryz\n", 10, "yz\n", 0},
		{"keep me\n" + strings.Repeat("x", 1000) + "\ryz\n", 11, "keep me\nyz\n", 0},
		{strings.Repeat("é", 10), 5, "éé", 16},
		{strings.Repeat("line\n", 1000), 12, "e\nline\nline\n", 4988},
	} {
		if got, leftOut := cleanWhole([]byte(c.raw), c.keep, false); got != c.want || leftOut != c.leftOut {
			t.Errorf("%.20q… kept %q, left out %d; want %q, %d", c.raw, got, leftOut, c.want, c.leftOut)
		}
	}
}

// TestGone: bytes that are gone are told of on a line of their own, where they stood.
func TestGone(t *testing.T) {
	c := newCleaner(0, false)
	c.write([]byte("begin\nhalf a li\x1b[3"))
	c.gone(1234)
	c.write([]byte("1mend\n"))
	if text, _ := c.finish(true); text != "begin\nhalf a li\n[1234 bytes of output are gone]\n1mend\n" {
		t.Errorf("text %q", text)
	}
	if c.held() != 0 || c.offset != 18+1234+6 {
		t.Errorf("held %d, offset %d", c.held(), c.offset)
	}
}

// TestGoneInWhatIsCut: where a cap cuts off the line that says so, it is said at the
// end, within the cap, and so is what came before it; a line that is kept is enough.
func TestGoneInWhatIsCut(t *testing.T) {
	more := strings.Repeat("line\n", 200)
	const keep = 300
	for _, c := range []struct {
		name   string
		losses []int64 // one, then more of the text, and so on
		invalid,
		note string
	}{
		{"one", []int64{1234}, "", "[of what stood before, 1234 bytes of output are gone]\n"},
		{"several", []int64{1, 20, 300, 4000}, "", "[of what stood before, 4321 bytes of output are gone]\n"},
		{"beside invalid bytes", []int64{7}, "\xff\n", "[1 bytes were not valid UTF-8, shown as U+FFFD]\n[of what stood before, 7 bytes of output are gone]\n"},
		{"none", nil, "", ""},
	} {
		cleaner := newCleaner(keep, false)
		cleaner.write([]byte("begin\n"))
		for _, n := range c.losses {
			cleaner.gone(n)
			cleaner.write([]byte(more))
		}
		cleaner.write([]byte(more + c.invalid))
		text, leftOut := cleaner.finish(true)
		if len(text) > keep || !strings.HasSuffix(text, "line\n"+strings.ToValidUTF8(c.invalid, "\uFFFD")+c.note) || strings.Count(text, "gone") != strings.Count(c.note, "gone") {
			t.Errorf("%s: %d bytes, %q", c.name, len(text), text)
		}
		if all := cleaner.done.total; leftOut+int64(len(text)-len(c.note)) != all {
			t.Errorf("%s: %d bytes left out and %d kept of %d", c.name, leftOut, len(text)-len(c.note), all)
		}
		if len(cleaner.lost) > 3 {
			t.Errorf("%s: %d gaps are kept", c.name, len(cleaner.lost))
		}
		if again, _ := cleaner.finish(true); again != text {
			t.Errorf("%s: looked at again it is %q", c.name, again)
		}
	}
	cleaner := newCleaner(1000, false)
	cleaner.write([]byte(more))
	cleaner.gone(9)
	cleaner.write([]byte("end\n"))
	if text, leftOut := cleaner.finish(true); leftOut == 0 || !strings.HasSuffix(text, "line\n[9 bytes of output are gone]\nend\n") {
		t.Errorf("%d left out, %q", leftOut, text)
	}
}

// TestBackspaceOfLittle: what is taken back again is not counted as left out.
func TestBackspaceOfLittle(t *testing.T) {
	for _, raw := range []string{"¦\b", "abc\b\b\b", "x\n€\b"} {
		whole, _ := cleanWhole([]byte(raw), 0, false)
		kept, cut := cleanWhole([]byte(raw), 1, false)
		if !strings.HasSuffix(whole, kept) || int64(len(whole)-len(kept)) != cut {
			t.Errorf("%q: kept %q and left %d bytes out of %q", raw, kept, cut, whole)
		}
	}
}

// TestHeld: what is incomplete at the end of a read is not in it, and the next
// one begins with it (T196).
func TestHeld(t *testing.T) {
	for _, c := range []struct {
		raw, text string
		held      int64
	}{
		{"abc", "abc", 0},
		{"abc\xe2\x82", "abc", 2},
		{"abc\r", "abc", 1},
		{"abc\r\r", "abc", 2},
		{"abc\x1b", "abc", 1},
		{"abc\x1b[31", "abc", 4},
		{"abc\r\x1b[K", "", 4},
		{"abc\x1b]0;tit\x1b", "abc", 8},
		{"abc\u009b3", "abc", 3},
		{"abc\xff", "abc\uFFFD\n[1 bytes were not valid UTF-8, shown as U+FFFD]\n", 0},
	} {
		cleaner := newCleaner(0, false)
		cleaner.write([]byte(c.raw))
		if text, _ := cleaner.finish(false); text != c.text || cleaner.held() != c.held {
			t.Errorf("%q: text %q, held %d; want %q, %d", c.raw, text, cleaner.held(), c.text, c.held)
		}
	}
}

// pieces is output as programs and attackers make it.
func pieces() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b\\", "\x07", "\r", "\n", "\b", "\x18", "\x00", "31m", "K", "2K", "G", "é", "🎉",
			"\xe2", "\x82", "\xac", "\xff", "\u009b", "\u009d", "text ", "100%", "\x1b[2K\x1b[1G", "\t", "\x7f",
		}),
		rapid.StringN(0, 20, 40),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 10), func(b []byte) string { return string(b) }),
	)
}

// TestAnySplit: the text of any output in any pieces is the text of it whole,
// with the same bytes left out; and it is valid UTF-8 within its bound.
func TestAnySplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := []byte(strings.Join(rapid.SliceOfN(pieces(), 0, 40).Draw(t, "output"), ""))
		keep := rapid.SampledFrom([]int64{0, 1, 7, 64, 200, 1000}).Draw(t, "keep")
		utf8Only := rapid.Bool().Draw(t, "utf8Only")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(raw)), 0, 20).Draw(t, "cuts")
		checkSplit(t, raw, keep, utf8Only, cuts)
		whole, leftOut := cleanWhole(raw, 0, utf8Only)
		kept, cut := cleanWhole(raw, keep, utf8Only)
		if leftOut != 0 || !utf8.ValidString(whole) || !utf8.ValidString(kept) {
			t.Fatalf("%q: not valid UTF-8, or %d left out without a bound", kept, leftOut)
		}
		if !strings.Contains(whole, "valid UTF-8, shown") && (!strings.HasSuffix(whole, kept) || int64(len(whole)-len(kept)) != cut) {
			t.Fatalf("kept %q and left %d bytes out of %q", kept, cut, whole)
		}
	})
}

func checkSplit(t fatal, raw []byte, keep int64, utf8Only bool, cuts []int) {
	t.Helper()
	want, wantOut := cleanWhole(raw, keep, utf8Only)
	c := newCleaner(keep, utf8Only)
	at := 0
	for _, cut := range cuts {
		if cut > at && cut <= len(raw) {
			c.write(raw[at:cut])
			at = cut
			// A look in between changes nothing.
			_, _ = c.finish(false)
			if held := c.held(); held < 0 || held > int64(at) {
				t.Fatalf("held %d of %d bytes", held, at)
			}
		}
	}
	c.write(raw[at:])
	if got, leftOut := c.finish(true); got != want || leftOut != wantOut {
		t.Fatalf("%q cut at %v became %q (%d left out), whole %q (%d)", raw, cuts, got, leftOut, want, wantOut)
	}
}

type fatal interface {
	Helper()
	Fatalf(string, ...any)
}

// TestReadsInTurn: consecutive reads, each a new cleaner from the cursor on, lose
// no byte and split no character or sequence.
func TestReadsInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"é", "🎉", "x", "\n", "\x1b[31m", "\x1b]0;t\x07", "\r\n"}), 0, 30).Draw(t, "output")
		raw := []byte(strings.Join(words, ""))
		var got strings.Builder
		cursor := 0
		for end := 0; ; end = min(end+rapid.IntRange(1, 5).Draw(t, "grows"), len(raw)) {
			c := newCleaner(0, false)
			c.write(raw[cursor:end])
			text, _ := c.finish(end == len(raw))
			got.WriteString(text)
			cursor = end - int(c.held())
			if end == len(raw) {
				break
			}
		}
		if want, _ := cleanWhole(raw, 0, false); got.String() != want || strings.Contains(want, "valid UTF-8") {
			t.Fatalf("read in turn %q, whole %q", got.String(), want)
		}
	})
}

// FuzzClean looks for output whose text depends on how it is cut, is no UTF-8 or
// is over its bound.
func FuzzClean(f *testing.F) {
	for _, raw := range []string{"", "a\r\nb", "\x1b[31mx\x1b[0m", "\x1b]0;t\x1b\\x", "\xe2\x82\xac\xff", "\u009b1K\x1b\x1b[", "50%\r\x1b[K100%\b\n\x00"} {
		f.Add([]byte(raw), uint8(3), uint16(0))
		f.Add([]byte(raw), uint8(1), uint16(5))
	}
	f.Fuzz(func(t *testing.T, raw []byte, step uint8, keep uint16) {
		var cuts []int
		for at := int(step%16) + 1; at < len(raw); at += int(step%16) + 1 {
			cuts = append(cuts, at)
		}
		for _, utf8Only := range []bool{false, true} {
			checkSplit(t, raw, int64(keep), utf8Only, cuts)
			if text, _ := cleanWhole(raw, int64(keep), utf8Only); !utf8.ValidString(text) {
				t.Fatalf("%q is not valid UTF-8", text)
			}
		}
	})
}
