package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// cleaned writes the parts through a cleaner.
func cleaned(t interface{ Fatal(...any) }, isTerminal bool, parts ...string) string {
	var out bytes.Buffer
	c := &cleaner{out: &out, terminal: isTerminal}
	for _, part := range parts {
		if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestClean(t *testing.T) {
	for _, test := range []struct{ name, in, file, terminal string }{
		{"text", "hello\nworld\n", "hello\nworld\n", "hello\nworld\n"},
		{"unfinished line", "a\nb", "a\nb", "a\nb\n"},
		{"tab", "a\tb\n", "a\tb\n", "a\tb\n"},
		{"colours", "\x1b[1;31mred\x1b[0m\n", "red\n", "\x1b[1;31mred\x1b[0m\n"},
		{"cursor", "\x1b[2Ja\x1b[3;4Hb\x1b[?25l\n", "ab\n", "ab\n"},
		{"title", "\x1b]0;owned\x07a\x1b]8;;http://x\x1b\\b\n", "ab\n", "ab\n"},
		{"title without end", "before\n\x1b]0;title\nhello\n", "before\n\nhello\n", "before\n\nhello\n"},
		{"device control without end", "\x1bPq#0;2\r\nhello\n", "\nhello\n", "\nhello\n"},
		{"device control", "\x1bPq#0;2;0;0;0\x1b\\a\n", "a\n", "a\n"},
		{"charset and keypad", "\x1b(B\x1b=a\n", "a\n", "a\n"},
		{"progress", "10%\r20%\r100%\n", "100%\n", "10%\r20%\r100%\n"},
		{"progress at the end", "10%\r20%\r", "20%\r", "10%\r20%\r\n"},
		{"carriage return and newline", "a\r\nb\r\r\n", "a\nb\n", "a\nb\n"},
		{"return alone", "a\r\x1b[31mb\r\n", "b\n", "a\r\x1b[31mb\n"},
		{"other controls", "a\x00b\x07c\x0ed\x7f\n", "abcd\n", "abcd\n"},
		{"no UTF-8", "a\xff\xfeb\n", "a\uFFFD\uFFFDb\n", "a\uFFFD\uFFFDb\n"},
		{"C1 controls", "a\u009b31mb\n", "a\uFFFD31mb\n", "a\uFFFD31mb\n"},
		{"cut at the end", "a\x1b[3", "a", "a\n"},
		{"cut character at the end", "a\xc3", "a\uFFFD", "a\uFFFD\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := cleaned(t, false, test.in); got != test.file {
				t.Errorf("into a file: %q, want %q", got, test.file)
			}
			if got := cleaned(t, true, test.in); got != test.terminal {
				t.Errorf("on a terminal: %q, want %q", got, test.terminal)
			}
		})
	}
}

// Where the daemon's answers are cut makes no difference, and nothing that a
// terminal could obey comes through.
func TestCleanAnywhereCut(t *testing.T) {
	pieces := []string{"a", "é", "😀", "\n", "\r", "plain\nlines\n", "\x1b[31m", "\x1b[2J", "\x1b]0;t\x07", "\x1b]0;t\x1b\\", "\x1b]0;t", "\xff", "\x00", "\x1b", "word "}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces)).Draw(t, "text"), "")
		cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
		for _, isTerminal := range []bool{false, true} {
			whole := cleaned(t, isTerminal, text)
			if got := cleaned(t, isTerminal, text[:cut], text[cut:]); got != whole {
				t.Fatalf("cut at %d: %q, whole: %q", cut, got, whole)
			}
			if !utf8.ValidString(whole) || strings.ContainsAny(strings.ReplaceAll(whole, "\x1b[31m", ""), "\x1b\x00\x07") {
				t.Fatalf("%q came through of %q", whole, text)
			}
		}
	})
}

// A sequence, or a line, that never ends is not kept for ever.
func TestCleanBounded(t *testing.T) {
	for _, start := range []string{"\x1b]0;", "\x1bP", "line"} {
		var out bytes.Buffer
		c := &cleaner{out: &out}
		for range 100 {
			if _, err := c.Write([]byte(start + strings.Repeat("x", 8<<10))); err != nil {
				t.Fatal(err)
			}
			start = ""
			if held := len(c.held) + len(c.line); held > 2*maxHeld {
				t.Fatalf("%d bytes are held", held)
			}
		}
		if out.Len() < 8*maxHeld {
			t.Errorf("of %q only %d bytes came out", start, out.Len())
		}
	}
}

// Where output is no longer kept, a line says so: in its place, and never in
// the middle of another.
func TestCleanInsert(t *testing.T) {
	for _, isTerminal := range []bool{false, true} {
		var out bytes.Buffer
		c := &cleaner{out: &out, terminal: isTerminal}
		for _, part := range []string{"a\n", "[gone]", "b", "[gone]", "c\n"} {
			var err error
			if part[0] == '[' {
				err = c.insert(part)
			} else {
				_, err = c.Write([]byte(part))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil || out.String() != "a\n[gone]\nb\n[gone]\nc\n" {
			t.Errorf("terminal %v: %q, %v", isTerminal, out.String(), err)
		}
	}
}
