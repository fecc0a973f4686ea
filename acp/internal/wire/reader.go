package wire

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line that is kept whole; longer ones are streamed
// uninspected (ACP.md §1).
const MaxLine = 64 << 20

// Line is one line, its newline included.
type Line struct {
	Bytes []byte
	// Gaps are what Bytes, then a digest, leave out of a long line.
	Gaps []Gap
	// Part marks a piece of a line that is too long to be kept; More says that
	// its end is still to come.
	Part, More bool
}

// Reader splits a stream at 0x0A. Its memory is bounded: two blocks, or one line.
type Reader struct {
	src     io.Reader
	long    [][]byte // full blocks with the beginning of the line at hand
	size    int      // of long
	block   []byte   // what is read and not yet given out: block[from:]
	other   []byte   // the block before, free for what comes next
	from    int
	scanned int  // block[from:scanned] holds no newline
	inPart  bool // the line at hand is being streamed
	lent    bool // block was given out whole
	many    int  // lines that the last read gave
	max     int
	join    int
	marks   marker
	err     error
}

// NewReader reads lines from src. prefix is random text that begins its marks,
// letter tells them from those of other readers.
func NewReader(src io.Reader, prefix string, letter byte) *Reader {
	return &Reader{src: src, max: MaxLine, join: joinLimit, marks: marker{prefix: prefix, reader: letter}}
}

// Read waits for a line and gives all that are there. The last one may lack its
// newline when the stream ends in the middle of it. The error is io.EOF at the
// end, and comes alone.
//
// The bytes of a line stay during the next Read, so that it may be at work beside
// whoever has the line, and no longer: what is to be kept is copied. Gaps and
// whole blocks ([PieceOf]) are the caller's.
func (r *Reader) Read() ([]Line, error) {
	for {
		if lines := r.take(); len(lines) > 0 {
			return lines, nil
		}
		if r.err != nil {
			return r.rest()
		}
		r.room()
		n, err := r.src.Read(r.block[len(r.block):cap(r.block)])
		r.block = r.block[:len(r.block)+n]
		if err != nil && !errors.Is(err, io.ErrNoProgress) {
			r.err = err
		}
	}
}

// rest gives what stands after the last newline, once, and then the error.
func (r *Reader) rest() ([]Line, error) {
	tail := r.block[r.from:]
	r.from, r.scanned = len(r.block), len(r.block)
	if len(tail) == 0 && len(r.long) == 0 && !r.inPart {
		return nil, r.err
	}
	line := Line{Bytes: tail, Part: r.inPart}
	if !r.inPart {
		line = r.whole(tail)
	}
	r.inPart = false
	return []Line{line}, nil
}

// take gives the whole lines of the block, or pieces of a line that is too long.
func (r *Reader) take() (lines []Line) {
	for r.scanned < len(r.block) {
		n := bytes.IndexByte(r.block[r.scanned:], '\n')
		if n < 0 {
			r.scanned = len(r.block)
			break
		}
		end := r.scanned + n + 1
		line := Line{Bytes: r.block[r.from:end:end], Part: r.inPart}
		if !r.inPart {
			line = r.whole(line.Bytes)
		} else {
			r.lent = PieceOf(line.Bytes).Block
		}
		if lines == nil {
			lines = make([]Line, 0, r.many)
		}
		lines = append(lines, line)
		r.inPart = false
		r.from, r.scanned = end, end
	}
	r.many = len(lines)
	left := len(r.block) - r.from
	if len(lines) > 0 || left == 0 || !r.inPart && r.size+left <= r.max && (r.size <= r.join || Opens(r.long[0])) {
		return lines
	}
	// Too long, or too long for something that is no message.
	for _, b := range append(r.long, r.block[r.from:len(r.block):len(r.block)]) {
		lines = append(lines, Line{Bytes: b, Part: true, More: true})
		r.lent = PieceOf(b).Block
	}
	r.long, r.size = nil, 0
	r.from, r.scanned, r.inPart = len(r.block), len(r.block), true
	return lines
}

// whole makes the line that ends with tail.
func (r *Reader) whole(tail []byte) Line {
	if len(r.long) == 0 {
		return Line{Bytes: tail}
	}
	long, size := r.long, r.size+len(tail)
	r.long, r.size = nil, 0
	if size <= r.join {
		return Line{Bytes: bytes.Join(append(long, tail), nil)}
	}
	text, gaps := digest(append(long, bytes.Clone(tail)), &r.marks)
	return Line{Bytes: text, Gaps: gaps}
}

// room makes space behind the block. Lines that were given out stay in it, and
// the beginning of the next one moves to the other block.
func (r *Reader) room() {
	switch {
	case r.from > 0:
		next := r.other
		if r.other = r.block; r.lent {
			r.other, r.lent = nil, false
		}
		if next == nil {
			next = newBlock()
		}
		r.block = append(next[:0], r.block[r.from:]...)
		r.from, r.scanned = 0, r.scanned-r.from
	case len(r.block) == cap(r.block):
		if len(r.block) > 0 {
			r.long = append(r.long, r.block)
			r.size += len(r.block)
		}
		r.block, r.scanned = newBlock(), 0
	}
}
