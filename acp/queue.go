package acp

import (
	"bytes"
	"io"
	"sync/atomic"

	"sidetask/acp/internal/wire"
)

const (
	// queueLimit is how many bytes may wait for a slow reader before nothing
	// more is read from the other side. One line always fits.
	queueLimit = 1 << 20
	// writeBlock is how much is written at once.
	writeBlock = 64 << 10
)

// outlet is one direction's end: lines wait here until its writer takes them.
// It belongs to the loop; the writer has its own goroutine.
type outlet struct {
	gaps   *wire.Gaps // of both directions
	next   wire.Pieces
	size   int // bytes in next, in after, and at the writer
	work   chan wire.Pieces
	wrote  chan written
	failed bool
	moved  atomic.Int64 // bytes that the peer has taken, or its pipe

	streaming bool        // a line that is passed on in pieces has not ended
	after     wire.Pieces // what is to come behind it
	behind    int         // bytes in after
	torn      bool        // its end never came: what comes behind it needs a newline first
}

// written is what the writer has done with one batch.
type written struct {
	bytes int
	err   error
}

func newOutlet(gaps *wire.Gaps) *outlet {
	return &outlet{gaps: gaps, work: make(chan wire.Pieces), wrote: make(chan written)}
}

// line queues a whole line of ours or of the other side. Its bytes are copied, but
// for those of a long one, which must stay as they are: see [wire.Pieces.Add].
func (o *outlet) line(b []byte) {
	if o.torn && !o.failed {
		o.mend()
	}
	add := func(p wire.Piece) {
		switch {
		case o.failed:
			return
		case o.streaming:
			o.behind += len(p.Bytes)
			o.after.Add(p)
		default:
			o.next.Add(p)
		}
		o.size += len(p.Bytes)
	}
	if o.gaps.None() {
		add(wire.Piece{Bytes: b})
		return
	}
	for _, p := range o.gaps.Expand(b) {
		add(p)
	}
}

// piece queues a piece of a line that is too long to be kept.
func (o *outlet) piece(l wire.Line) {
	if o.failed {
		return
	}
	torn := !l.More && !bytes.HasSuffix(l.Bytes, []byte{'\n'}) // before the block is the writer's
	o.size += len(l.Bytes)
	o.next.Add(wire.PieceOf(l.Bytes))
	if o.streaming = l.More; o.streaming {
		return
	}
	o.torn = torn
	if torn && len(o.after) > 0 {
		o.mend()
	}
	o.next = append(o.next, o.after...)
	o.after, o.behind = nil, 0
}

// mend ends a line whose own end never came.
func (o *outlet) mend() {
	o.torn = false
	o.size++
	o.next.Add(wire.Piece{Bytes: []byte{'\n'}})
}

// full reports whether the other side must wait. What is behind a long line does
// not count: it goes when the rest of that has come from there.
func (o *outlet) full() bool { return o.size-o.behind >= queueLimit }

// ready gives the channel to send next on, or nil when there is nothing.
func (o *outlet) ready() chan<- wire.Pieces {
	if len(o.next) == 0 {
		return nil
	}
	return o.work
}

// taken notes that the writer has taken next.
func (o *outlet) taken() { o.next = nil }

// done notes what was written. After a failure the peer is gone: what comes is dropped.
func (o *outlet) done(w written) {
	if !o.failed {
		o.size -= w.bytes
	}
	if w.err != nil {
		o.fail()
	}
}

// fail drops all that waits and all that is to come.
func (o *outlet) fail() {
	o.failed, o.streaming, o.torn = true, false, false
	o.next, o.after, o.size, o.behind = nil, nil, 0, 0
}

// idle reports whether everything has been written.
func (o *outlet) idle() bool { return o.failed || o.size == 0 }

// writeAll is the writer: it writes batches until work is closed, or the loop
// has ended. After an error it takes everything and writes nothing.
func (o *outlet) writeAll(w io.Writer, ended <-chan struct{}) {
	var done written
	for batch := range o.work {
		done.bytes = 0
		for _, p := range batch {
			done.bytes += len(p.Bytes)
			for b := p.Bytes; done.err == nil && len(b) > 0; {
				var n int
				n, done.err = w.Write(b[:min(len(b), writeBlock)])
				o.moved.Add(int64(n))
				b = b[n:]
			}
			wire.Recycle(p)
		}
		select {
		case o.wrote <- done:
		case <-ended:
			return
		}
	}
}
