package main

import (
	"bytes"
	"unicode/utf8"
)

// Bytes that begin, end and break off escape sequences (ECMA-48, and xterm for
// the bell).
const (
	bell       = 0x07
	cancel     = 0x18
	substitute = 0x1a
	escape     = 0x1b
)

// sequence is the length of the escape sequence that b, which starts with ESC,
// begins with; 0 if b ends in the middle of it. The byte that breaks a sequence
// off is no part of it.
func sequence(b []byte) int {
	if len(b) == 1 {
		return 0
	}
	n, last := 1, byte(0x2f) // ESC, intermediates, a final byte
	switch b[1] {
	case ']', 'P', 'X', '^', '_':
		return commandString(b)
	case '[': // CSI has parameters, too
		n, last = 2, 0x3f
	}
	for n < len(b) && b[n] >= 0x20 && b[n] <= last {
		n++
	}
	switch {
	case n == len(b):
		return 0
	case b[n] > last && b[n] < 0x7f:
		return n + 1
	}
	return n
}

// commandString is [sequence] for those that hold a text (titles, links,
// pictures): it is ended by ST or a bell. None that we know holds a newline; one
// that does was never ended, and must not swallow the lines that follow.
func commandString(b []byte) int {
	for n := 2; n < len(b); n++ {
		switch b[n] {
		case bell, cancel, substitute:
			return n + 1
		case '\n':
			return n
		case escape:
			switch {
			case n+1 == len(b):
				return 0
			case b[n+1] == '\\':
				return n + 2
			}
			return n
		}
	}
	return 0
}

// isColour reports whether tok is an SGR sequence: it changes how text looks
// and nothing else.
func isColour(tok []byte) bool {
	if len(tok) < 3 || tok[0] != escape || tok[1] != '[' || tok[len(tok)-1] != 'm' {
		return false
	}
	return len(bytes.Trim(tok[2:len(tok)-1], "0123456789;:")) == 0
}

// printable is tok with what is no UTF-8 replaced, and C1 controls (which some
// terminals obey) too.
func printable(tok []byte) []byte {
	for i := 0; i < len(tok); {
		if tok[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(tok[i:])
		if r == utf8.RuneError && n == 1 || r >= 0x80 && r < 0xa0 {
			// Byte by byte, so that it makes no difference where the output was cut.
			return bytes.Map(func(r rune) rune {
				if r >= 0x80 && r < 0xa0 {
					return utf8.RuneError
				}
				return r
			}, tok)
		}
		i += n
	}
	return tok
}
