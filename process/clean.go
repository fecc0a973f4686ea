package process

import (
	"fmt"
	"unicode/utf8"

	"sidetask/spool"
)

// cleaner makes the text that a model sees of raw output: valid UTF-8 whatever
// the bytes, without escape sequences, of overwritten lines only the last state,
// NUL and other control characters visible. It takes the output in pieces of any
// size, and the pieces make no difference; it keeps the end of the text only and
// counts the rest.
//
// What is incomplete at the end of a read (a character, an escape sequence, a
// carriage return whose meaning the next byte tells) is not in the text but for
// the next read to begin with: see held.
type cleaner struct {
	keep int
	raw  bool // repair UTF-8 only

	done tail  // complete lines
	line tail  // the line at the end
	bad  int64 // bytes that were replaced
	lost losses

	cr    bool // a carriage return came: what is printed next overwrites the line
	state scan
	param []byte // parameters of a CSI sequence, the first few
	size  int    // of the escape sequence so far
	char  []byte // an incomplete character

	offset int64 // bytes taken
	open   int64 // where the incomplete end begins; -1 without one
}

// lineBytes is how much of an unfinished line is kept at least: backspaces reach
// no further back.
const lineBytes = 4 << 10

// newCleaner keeps at most keep bytes of text; 0 = all of it.
func newCleaner(keep int64, raw bool) *cleaner {
	n := int(min(keep, 1<<30))
	c := &cleaner{keep: n, raw: raw, open: -1}
	c.done.keep = n
	if n > 0 {
		c.line.keep = max(n, lineBytes) // what backspaces take off must be there
	}
	return c
}

// write takes a piece.
func (c *cleaner) write(p []byte) {
	for len(p) > 0 {
		if c.open < 0 {
			if n := c.plain(p); n > 0 {
				p = p[n:]
				c.offset += int64(n)
				continue
			}
			c.open = c.offset
		}
		if c.take(p[0]) {
			p = p[1:]
			c.offset++
		}
		if c.state == text && !c.cr && len(c.char) == 0 {
			c.open = -1
		}
	}
}

// plain takes a run of bytes that mean themselves, whole lines at once, and says
// how many those are.
func (c *cleaner) plain(p []byte) int {
	n, lines := 0, 0
	for n < len(p) && isPlain[p[n]] {
		n++
		if p[n-1] == '\n' {
			lines = n
		}
	}
	if lines > 0 {
		c.done.add(&c.line)
		c.line.reset()
		c.done.append(p[:lines])
	}
	if n > lines {
		c.line.append(p[lines:n])
	}
	return n
}

var isPlain = func() (plain [256]bool) {
	for b := 0x20; b < 0x7f; b++ {
		plain[b] = true
	}
	plain['\t'], plain['\n'] = true, true
	return plain
}()

// take takes one byte; false: it ended something incomplete and is to be looked
// at again.
func (c *cleaner) take(b byte) bool {
	if len(c.char) > 0 || b >= utf8.RuneSelf && c.state == text {
		return c.assemble(b)
	}
	if c.raw {
		c.line.append([]byte{b})
		if b == '\n' {
			c.newline()
		}
		return true
	}
	if c.state != text {
		return c.sequence(b)
	}
	c.control(b)
	return true
}

// assemble adds a byte to a character of several.
func (c *cleaner) assemble(b byte) bool {
	if len(c.char) > 0 && utf8.RuneStart(b) {
		c.replace()
		return false
	}
	c.char = append(c.char, b)
	if !utf8.FullRune(c.char) {
		return true
	}
	if r, size := utf8.DecodeRune(c.char); size == len(c.char) && r != utf8.RuneError || size == 3 {
		c.rune(r, c.char)
		c.char = c.char[:0]
		return true
	}
	c.replace()
	return true
}

// replace shows each byte of what is no character as U+FFFD.
func (c *cleaner) replace() {
	for range c.char {
		c.bad++
		c.print([]byte("\uFFFD"))
	}
	c.char = c.char[:0]
}

// rune prints a character, or begins the sequence that the eight-bit control
// characters stand for.
func (c *cleaner) rune(r rune, encoded []byte) {
	if !c.raw && r >= 0x80 && r < 0xa0 {
		c.begin()
		c.sequence(byte(r - 0x40))
		return
	}
	c.print(encoded)
}

// control does what a control character says.
func (c *cleaner) control(b byte) {
	switch b {
	case 0x1b:
		c.begin()
	case '\r':
		c.cr = true
	case '\n':
		c.newline()
	case '\b':
		if !c.cr && len(c.line.buf) > 0 {
			c.line.chop()
		}
	case 0x07, 0x0e, 0x0f: // bell, shifts of the character set
	case 0x7f:
		c.print([]byte("\u2421"))
	default:
		if b < 0x20 && b != '\t' {
			var shown [utf8.UTFMax]byte
			c.print(utf8.AppendRune(shown[:0], 0x2400+rune(b))) // ␀ and its like
			return
		}
		c.print([]byte{b})
	}
}

// print adds to the line, or begins it anew after a carriage return.
func (c *cleaner) print(p []byte) {
	if c.cr {
		c.cr = false
		c.line.reset()
	}
	c.line.append(p)
}

func (c *cleaner) newline() {
	c.cr = false
	if !c.raw {
		c.line.append([]byte{'\n'})
	}
	c.done.add(&c.line)
	c.line.reset()
}

// gone notes that n bytes are missing here.
func (c *cleaner) gone(n int64) {
	c.replaceOpen()
	c.offset += n
	c.endLine()
	c.lost.add(loss{at: c.done.total, bytes: n}, int64(c.keep))
	c.done.append([]byte(spool.GoneLine(n)))
}

// endLine ends an unfinished line, for one of ours comes.
func (c *cleaner) endLine() {
	if c.line.total > 0 {
		c.done.add(&c.line)
		c.line.reset()
		c.done.append([]byte{'\n'})
	}
}

// replaceOpen ends what is incomplete: nothing more of it comes.
func (c *cleaner) replaceOpen() {
	c.replace()
	c.state, c.cr, c.open = text, false, -1
}

// held is how many bytes at the end are not in the text, for they are
// incomplete. The next read begins with them.
func (c *cleaner) held() int64 {
	if c.open < 0 {
		return 0
	}
	return c.offset - c.open
}

// finish gives the end of the text, and how many bytes of text are left out
// before it. Nothing is held once the output has ended.
func (c *cleaner) finish(ended bool) (text string, leftOut int64) {
	if ended {
		c.replaceOpen()
	}
	keep := c.keep
	all := c.done
	all.buf = append([]byte(nil), c.done.buf...)
	all.add(&c.line)
	note := ""
	if c.bad > 0 {
		note = fmt.Sprintf("[%d bytes were not valid UTF-8, shown as U+FFFD]\n", c.bad)
	}
	if _, leftOut := all.last(keep); leftOut > 0 {
		note += c.lost.note(leftOut)
	}
	if note != "" {
		if !all.endsLine() {
			note = "\n" + note
		}
		if keep > 0 {
			keep = max(keep-len(note), 1)
		}
	}
	kept, leftOut := all.last(keep)
	return string(kept) + note, leftOut
}
