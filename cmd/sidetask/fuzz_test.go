package main

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// Whatever a task writes, nothing that a terminal would obey comes through.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"a\x1b[31mb\x1b[0m\n", "\x1b]0;title\x07x", "10%\r20%\r\n", "\xff\xc3", "\x1b[\x1b[2J", "\u009b31m", "\x1bPq\x1b\\", "\x90\x9c"} {
		f.Add([]byte(seed), 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = min(max(cut, 0), len(text))
		for _, isTerminal := range []bool{false, true} {
			got := cleaned(t, isTerminal, string(text[:cut]), string(text[cut:]))
			if !utf8.ValidString(got) {
				t.Fatalf("%q is no UTF-8", got)
			}
			for i, r := range got {
				colour := r == escape && isTerminal && isColour([]byte(got[i:i+1+strings.IndexByte(got[i:], 'm')]))
				if unicode.IsControl(r) && !strings.ContainsRune("\n\t", r) && !(isTerminal && strings.ContainsRune("\r\b", r)) && r != '\r' && !colour {
					t.Fatalf("terminal %v: %q has %q", isTerminal, got, r)
				}
			}
		}
	})
}
