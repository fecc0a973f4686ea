package wire

import (
	"bytes"
	"io"
)

// Gaps are those of the lines at hand. They belong to one goroutine.
type Gaps struct {
	prefix []byte
	byMark map[string]Gap
}

// NewGaps makes an empty set for readers with that prefix of their marks.
func NewGaps(prefix string) *Gaps {
	return &Gaps{prefix: []byte(prefix), byMark: map[string]Gap{}}
}

// Reader reads lines from src whose gaps may be in this set. letter tells its marks
// from those of other readers.
func (g *Gaps) Reader(src io.Reader, letter byte) *Reader {
	return NewReader(src, string(g.prefix), letter)
}

// Add takes the gaps of a line.
func (g *Gaps) Add(l Line) {
	for _, gap := range l.Gaps {
		g.byMark[gap.Mark] = gap
	}
}

// None reports whether no line with gaps is at hand.
func (g *Gaps) None() bool { return len(g.byMark) == 0 }

// Expand gives the line that a digest stands for, in pieces, and forgets its gaps.
func (g *Gaps) Expand(line []byte) []Piece {
	if g.None() {
		return []Piece{{Bytes: line}}
	}
	var out []Piece
	g.each(line, func(before []byte, gap Gap) {
		out = append(out, Piece{Bytes: before})
		for _, p := range gap.Pieces {
			out = append(out, PieceOf(p))
		}
		delete(g.byMark, gap.Mark)
	}, func(rest []byte) { out = append(out, Piece{Bytes: rest}) })
	return out
}

// In reports whether a line is a digest.
func (g *Gaps) In(line []byte) bool { return !g.None() && g.Size(line) != len(line) }

// Whole gives the line that a digest stands for in one piece, and forgets its gaps.
func (g *Gaps) Whole(line []byte) []byte {
	out := make([]byte, 0, g.Size(line))
	for _, p := range g.Expand(line) {
		out = append(out, p.Bytes...)
		Recycle(p)
	}
	return out
}

// Forget drops the gaps of a line that goes nowhere.
func (g *Gaps) Forget(line []byte) {
	if !g.None() {
		g.each(line, func(_ []byte, gap Gap) { delete(g.byMark, gap.Mark) }, func([]byte) {})
	}
}

// Size is the size of the line that a digest stands for.
func (g *Gaps) Size(line []byte) int {
	size := len(line)
	if !g.None() {
		g.each(line, func(_ []byte, gap Gap) {
			size -= len(gap.Mark)
			for _, p := range gap.Pieces {
				size += len(p)
			}
		}, func([]byte) {})
	}
	return size
}

// each calls gap for each mark of a line with what stands before it, then rest.
func (g *Gaps) each(line []byte, gap func(before []byte, gap Gap), rest func([]byte)) {
	from := 0
	for at := 0; ; {
		i := bytes.Index(line[at:], g.prefix)
		if i < 0 || at+i+len(g.prefix)+markDigits > len(line) {
			break
		}
		end := at + i + len(g.prefix) + markDigits
		if found, ok := g.byMark[string(line[at+i:end])]; ok {
			gap(line[from:at+i:at+i], found)
			from = end
		}
		at = end
	}
	rest(line[from:])
}
