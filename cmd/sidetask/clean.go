package main

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// maxHeld bounds what a cleaner keeps of a line or a sequence that has not
// ended. Longer ones are given as far as they are.
const maxHeld = 64 << 10

// cleaner makes a task's output fit to be shown: it takes out the sequences that
// would move the cursor, retitle or reprogram the person's terminal, and bytes
// that are no UTF-8. On a terminal colours stay and a carriage return does what
// it is for; elsewhere colours go and of a line that was overwritten the last
// state stays. `tail --raw` gives the bytes themselves.
type cleaner struct {
	out      io.Writer
	terminal bool

	held     []byte // an unfinished sequence or character
	line     []byte // elsewhere than on a terminal: the line so far
	returned bool   // on a terminal: a carriage return that was not yet written
	open     bool   // the last line written has no end yet
}

func newCleaner(out io.Writer) *cleaner {
	_, isTerminal := terminal(out)
	return &cleaner{out: out, terminal: isTerminal}
}

// Write cleans b, which may end anywhere, and writes what is complete.
func (c *cleaner) Write(b []byte) (int, error) {
	written := len(b)
	b = append(c.held, b...)
	c.held = nil
	clean := make([]byte, 0, len(b)+len(c.line)+1)
	for len(b) > 0 {
		if len(c.line) == 0 && !c.returned { // nearly all output is nothing but such lines
			n := plainLines(b)
			clean = append(clean, b[:n]...)
			if b = b[n:]; len(b) == 0 {
				break
			}
		}
		n := token(b)
		if n == 0 && len(b) < maxHeld {
			c.held = bytes.Clone(b)
			break
		}
		// A sequence without end is none: its first byte goes, the rest is text.
		clean = c.keep(clean, b[:max(n, 1)])
		b = b[max(n, 1):]
	}
	return written, c.write(clean)
}

// insert writes a line of our own between what came and what comes.
func (c *cleaner) insert(line string) error {
	err := c.flush()
	if c.open {
		line = "\n" + line
	}
	c.open = false
	_, writeErr := c.out.Write([]byte(line + "\n"))
	return errors.Join(err, writeErr)
}

// Close writes what was held back, and on a terminal ends the last line, so that
// the prompt has its own. The writer below stays open.
func (c *cleaner) Close() error {
	err := c.flush()
	if c.terminal && c.open {
		_, newlineErr := c.out.Write([]byte{'\n'})
		err = errors.Join(err, newlineErr)
	}
	return err
}

// flush writes what was held back.
func (c *cleaner) flush() error {
	rest := c.line
	if c.returned {
		rest = append(rest, '\r')
	}
	c.returned = false
	if len(c.held) > 0 && c.held[0] != escape {
		rest = append(rest, printable(c.held)...)
	}
	c.line, c.held = nil, nil
	return c.write(rest)
}

// write writes clean bytes and notes whether the last line has ended.
func (c *cleaner) write(clean []byte) error {
	if len(clean) == 0 {
		return nil
	}
	c.open = clean[len(clean)-1] != '\n'
	_, err := c.out.Write(clean)
	return err
}

// keep appends what is to be shown of one token to clean.
func (c *cleaner) keep(clean, tok []byte) []byte {
	text := isText(tok) || tok[0] == '\t'
	if c.terminal {
		return c.show(clean, tok, text)
	}
	returned := bytes.HasSuffix(c.line, []byte{'\r'})
	switch {
	case tok[0] == '\n':
		clean = append(clean, bytes.TrimSuffix(c.line, []byte{'\r'})...)
		clean = append(clean, '\n')
		c.line = c.line[:0]
	case tok[0] == '\r' && !returned:
		c.line = append(c.line, '\r')
	case text:
		if returned {
			c.line = c.line[:0] // overwritten
		}
		c.line = append(c.line, printable(tok)...)
		if len(c.line) > maxHeld {
			clean = append(clean, c.line...)
			c.line = c.line[:0]
		}
	}
	return clean
}

// show is keep for a terminal. Of the "\r\n" that a task with a terminal of its own
// writes, ours makes the return itself.
func (c *cleaner) show(clean, tok []byte, text bool) []byte {
	if !text && tok[0] != '\n' && tok[0] != '\r' && tok[0] != '\b' && !isColour(tok) {
		return clean
	}
	if c.returned && tok[0] != '\n' && tok[0] != '\r' {
		clean = append(clean, '\r')
	}
	if c.returned = tok[0] == '\r'; c.returned {
		return clean
	}
	return append(clean, printable(tok)...)
}

// plainLines is the length of the whole lines of printable ASCII that b begins with.
func plainLines(b []byte) int {
	end := 0
	for i, ch := range b {
		if ch == '\n' {
			end = i + 1
		} else if ch < ' ' || ch > '~' {
			break
		}
	}
	return end
}

// token is the length of the run of text, the control character or the escape
// sequence that b begins with; 0 if b ends in the middle of it.
func token(b []byte) int {
	switch {
	case b[0] == escape:
		return sequence(b)
	case !isText(b):
		return 1
	}
	n := 0
	for n < len(b) && b[n] >= ' ' && b[n] != 0x7f {
		n++
	}
	if n < len(b) {
		return n
	}
	// At the end a character may be cut; what stands before it is whole.
	for back := 1; back < utf8.UTFMax && back <= n; back++ {
		if utf8.RuneStart(b[n-back]) {
			if !utf8.FullRune(b[n-back:]) {
				n -= back
			}
			break
		}
	}
	return n
}

// isText reports whether b begins with something other than a control.
func isText(b []byte) bool { return b[0] >= ' ' && b[0] != 0x7f }
