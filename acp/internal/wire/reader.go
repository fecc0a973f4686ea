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
	// Part marks a piece of a line that is too long to be kept; More says that
	// its end is still to come.
	Part, More bool
}

// Reader splits a stream at 0x0A. Its memory is bounded: a block, or one line.
type Reader struct {
	src     io.Reader
	block   []byte // what is read and not yet given out: block[from:]
	from    int
	scanned int  // block[from:scanned] holds no newline
	inPart  bool // the line at hand is being streamed
	max     int
	err     error
}

// NewReader reads lines from src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src, max: MaxLine} }

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
	if len(tail) > 0 || r.inPart {
		line := Line{Bytes: tail, Part: r.inPart}
		r.inPart = false
		return []Line{line}, nil
	}
	return nil, r.err
}

// take gives the whole lines of the block, or a piece of a line that is too long.
func (r *Reader) take() (lines []Line) {
	for r.scanned < len(r.block) {
		n := bytes.IndexByte(r.block[r.scanned:], '\n')
		if n < 0 {
			r.scanned = len(r.block)
			break
		}
		end := r.scanned + n + 1
		lines = append(lines, Line{Bytes: r.block[r.from:end:end], Part: r.inPart})
		r.inPart = false
		r.from, r.scanned = end, end
	}
	if left := len(r.block) - r.from; len(lines) == 0 && left > 0 && (r.inPart || left > r.max) {
		lines = append(lines, Line{Bytes: r.block[r.from:len(r.block):len(r.block)], Part: true, More: true})
		r.from, r.scanned, r.inPart = len(r.block), len(r.block), true
	}
	return lines
}

// room makes space behind the block. What was given out keeps its own memory:
// a full block is left to whoever has its lines.
func (r *Reader) room() {
	left := len(r.block) - r.from
	if cap(r.block)-len(r.block) >= blockSize/4 {
		return
	}
	size := blockSize
	for size < 2*left {
		size *= 2
	}
	next := make([]byte, left, size)
	copy(next, r.block[r.from:])
	r.block, r.from, r.scanned = next, 0, r.scanned-r.from
}
