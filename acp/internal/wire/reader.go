package wire

import (
	"bytes"
	"errors"
	"io"
)

const (
	// MaxLine is the longest line that is kept whole; longer ones are streamed
	// uninspected (ACP.md §1).
	MaxLine   = 64 << 20
	blockSize = 64 << 10
)

// Line is one line, its newline included. Its bytes are never written again.
type Line struct {
	Bytes []byte
	// Gaps are what Bytes, then a digest, leave out of a long line.
	Gaps []Gap
	// Part marks a piece of a line that is too long to be kept; More says that
	// its end is still to come.
	Part, More bool
}

// Reader splits a stream at 0x0A. Its memory is bounded: a block, or one line.
type Reader struct {
	src     io.Reader
	long    [][]byte // full blocks with the beginning of the line at hand
	size    int      // of long
	block   []byte   // what is read and not yet given out: block[from:]
	from    int
	scanned int  // block[from:scanned] holds no newline
	inPart  bool // the line at hand is being streamed
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
	pieces := append(r.long, tail)
	size := r.size + len(tail)
	r.long, r.size = nil, 0
	if size <= r.join {
		return Line{Bytes: bytes.Join(pieces, nil)}
	}
	text, gaps := digest(pieces, &r.marks)
	return Line{Bytes: text, Gaps: gaps}
}

// room makes space behind the block. What was given out keeps its own memory:
// a full block is left to whoever has its lines, or is the beginning of a long one.
func (r *Reader) room() {
	if cap(r.block)-len(r.block) >= blockSize/4 {
		return
	}
	left := r.block[r.from:]
	copied := len(left) <= blockSize/2 && r.long == nil
	if !copied && len(r.block) < cap(r.block) {
		return // not full yet, and too much to copy
	}
	next := blocks.Get().(*[blockSize]byte)[:0]
	if copied {
		next = append(next, left...)
		r.scanned -= r.from
	} else {
		r.long = append(r.long, left)
		r.size += len(left)
		r.scanned = 0
	}
	r.block, r.from = next, 0
}
