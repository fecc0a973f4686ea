package wire

import "sync"

// blockSize is what is read and written at once: what a pipe holds.
const blockSize = 64 << 10

// blocks are spare blocks, of readers and of pieces.
var blocks = sync.Pool{New: func() any { return new([blockSize]byte) }}

func newBlock() []byte { return blocks.Get().(*[blockSize]byte)[:0] }

// Piece is a part of a stream to be written.
type Piece struct {
	Bytes []byte
	Block bool // it begins a block that is its own, to be given back to [Recycle] when written
}

// PieceOf makes a piece of what a reader gave; a whole block is its own.
func PieceOf(b []byte) Piece {
	return Piece{Bytes: b, Block: len(b) == blockSize && cap(b) == blockSize}
}

// Pieces are parts of a stream, in order.
type Pieces []Piece

// Add puts a piece behind the others. It is copied, unless it is a block of its
// own, or longer than one: then it lies in no reader's.
func (ps *Pieces) Add(p Piece) {
	if p.Block || len(p.Bytes) > blockSize {
		*ps = append(*ps, p)
		return
	}
	for b := p.Bytes; len(b) > 0; {
		last := len(*ps) - 1
		if last < 0 || !(*ps)[last].Block || len((*ps)[last].Bytes) == blockSize {
			*ps = append(*ps, Piece{Bytes: newBlock(), Block: true})
			last++
		}
		to := &(*ps)[last].Bytes
		n := min(len(b), blockSize-len(*to))
		*to = append(*to, b[:n]...)
		b = b[n:]
	}
}

// Recycle takes the block of a piece back, to which nothing may refer any more.
func Recycle(p Piece) {
	if p.Block {
		blocks.Put((*[blockSize]byte)(p.Bytes[:blockSize]))
	}
}
