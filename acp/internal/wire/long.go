package wire

import (
	"bytes"
	"fmt"
)

// A line over 256 KiB is kept in the blocks that it was read into, and looked at
// as a digest: the same JSON, with the ends of its long strings replaced by
// marks. An edit of the digest is an edit of the line, for [Gaps.Expand] puts
// back what the marks stand for. So a line costs its own size and no more.
const (
	joinLimit = 256 << 10 // up to here a line is made one piece
	headOf    = 1 << 10   // of a long string stays in the digest
	gapMin    = 4 << 10   // shorter ends are not worth a mark
	safeBack  = 12        // bytes without a backslash: two \u escapes are not cut apart
)

// Gap is what a mark stands for: pieces of blocks, in order.
type Gap struct {
	Mark   string
	Pieces [][]byte
}

// marker makes marks that occur in no line.
type marker struct {
	prefix string // random, the same for all readers
	reader byte   // tells them apart
	n      int
}

// markDigits is the length of a mark after the common prefix: the reader's
// letter and a number.
const markDigits = 9

func (m *marker) next() string {
	m.n++
	return fmt.Sprintf("%s%c%08x", m.prefix, m.reader, m.n)
}

// digester makes a digest of a line in blocks.
type digester struct {
	mark *marker
	out  []byte
	gaps []Gap

	inString bool
	odd      bool // an odd run of backslashes ends here
	length   int  // of the string so far
	gap      [][]byte
	gapSize  int
	open     bool // the end of the string goes to gap
}

// digest gives the digest of a line and what was left out of it.
func digest(blocks [][]byte, m *marker) ([]byte, []Gap) {
	d := &digester{mark: m}
	for _, b := range blocks {
		for len(b) > 0 {
			b = b[d.take(b):]
		}
	}
	if d.open { // no JSON, then: all of it stays
		d.close()
	}
	return d.out, d.gaps
}

// take works off the beginning of b and says how much.
func (d *digester) take(b []byte) int {
	if !d.inString {
		n := bytes.IndexByte(b, '"') + 1
		d.inString = n > 0
		if n == 0 {
			n = len(b)
		}
		d.out = append(d.out, b[:n]...)
		d.odd, d.length = false, 0
		return n
	}
	if !d.open && d.length >= headOf && d.safe(b) {
		d.open = true
	}
	if !d.open {
		b = b[:min(len(b), headOf)]
		if d.length >= headOf {
			b = b[:min(len(b), safeBack)]
		}
	}
	n, ended := d.string(b)
	d.length += n
	if !d.open {
		d.out = append(d.out, b[:n]...)
	} else if n > 0 {
		d.gap = append(d.gap, b[:n:n])
		d.gapSize += n
	}
	if ended {
		if d.open {
			d.close()
		}
		d.out = append(d.out, '"')
		d.inString = false
		n++
	}
	return n
}

// safe reports whether the string may be cut before b: in no escape and in no character.
func (d *digester) safe(b []byte) bool {
	if b[0]&0xC0 == 0x80 || b[0] == '"' {
		return false
	}
	return bytes.IndexByte(d.out[len(d.out)-safeBack:], '\\') < 0
}

// string finds the end of the string in b: the bytes before it, and whether it is there.
func (d *digester) string(b []byte) (n int, ended bool) {
	for n < len(b) {
		i := bytes.IndexByte(b[n:], '"')
		end := n + i
		if i < 0 {
			end = len(b)
		}
		run := end
		for run > n && b[run-1] == '\\' {
			run--
		}
		odd := (end-run)%2 == 1
		if run == n {
			odd = odd != d.odd
		}
		d.odd = odd
		if i < 0 {
			return len(b), false
		}
		if !odd {
			return end, true
		}
		n, d.odd = end+1, false
	}
	return n, false
}

// close ends the gap: with a mark if it is worth one.
func (d *digester) close() {
	if d.gapSize >= gapMin {
		mark := d.mark.next()
		d.gaps = append(d.gaps, Gap{Mark: mark, Pieces: d.gap})
		d.out = append(d.out, mark...)
	} else {
		for _, p := range d.gap {
			d.out = append(d.out, p...)
		}
	}
	d.gap, d.gapSize, d.open = nil, 0, false
}
