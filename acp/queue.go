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
	// writeBlock is how much of several lines is written at once.
	writeBlock = 64 << 10
)

// outlet is one direction's end: lines wait here until its writer takes them.
// It belongs to the loop; the writer has its own goroutine.
type outlet struct {
	gaps   *wire.Gaps // of both directions
	next   []wire.Piece
	size   int // bytes in next, in after, and at the writer
	work   chan []wire.Piece
	wrote  chan written
	failed bool
	moved  atomic.Int64 // bytes that the peer has taken, or its pipe

	streaming bool         // a line that is passed on in pieces has not ended
	after     []wire.Piece // what is to come behind it
	torn      bool         // its end never came: what comes behind it needs a newline first
}

// written is what the writer has done with one batch.
type written struct {
	bytes int
	err   error
}

func newOutlet(gaps *wire.Gaps) *outlet {
	return &outlet{gaps: gaps, work: make(chan []wire.Piece), wrote: make(chan written)}
}

// line queues a whole line of ours or of the other side.
func (o *outlet) line(b []byte) {
	if o.torn && !o.failed {
		o.mend()
	}
	if o.gaps.None() && !o.streaming {
		if !o.failed {
			o.size += len(b)
			o.next = append(o.next, wire.Piece{Bytes: b})
		}
		return
	}
	pieces := o.gaps.Expand(b)
	if o.failed {
		return
	}
	for _, p := range pieces {
		o.size += len(p.Bytes)
	}
	if o.streaming {
		o.after = append(o.after, pieces...)
	} else {
		o.next = append(o.next, pieces...)
	}
}

// piece queues a piece of a line that is too long to be kept.
func (o *outlet) piece(l wire.Line) {
	if o.failed {
		return
	}
	torn := !l.More && !bytes.HasSuffix(l.Bytes, []byte{'\n'}) // before the block is the writer's
	o.size += len(l.Bytes)
	o.next = append(o.next, wire.PieceOf(l.Bytes))
	if o.streaming = l.More; o.streaming {
		return
	}
	o.torn = torn
	if torn && len(o.after) > 0 {
		o.mend()
	}
	o.next = append(o.next, o.after...)
	o.after = nil
}

// mend ends a line whose own end never came.
func (o *outlet) mend() {
	o.torn = false
	o.size++
	o.next = append(o.next, wire.Piece{Bytes: []byte{'\n'}})
}

// full reports whether the other side must wait.
func (o *outlet) full() bool { return o.size >= queueLimit }

// ready gives the channel to send next on, or nil when there is nothing.
func (o *outlet) ready() chan<- []wire.Piece {
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
	o.failed, o.streaming, o.torn, o.next, o.after, o.size = true, false, false, nil, nil, 0
}

// idle reports whether everything has been written.
func (o *outlet) idle() bool { return o.failed || o.size == 0 }

// writeAll is the writer: it writes batches until work is closed, or the loop
// has ended.
func (o *outlet) writeAll(w io.Writer, ended <-chan struct{}) {
	out := &writer{to: w, moved: &o.moved, block: make([]byte, 0, writeBlock)}
	for batch := range o.work {
		var done written
		for _, p := range batch {
			done.bytes += len(p.Bytes)
			out.add(p.Bytes)
			wire.Recycle(p)
		}
		out.flush()
		done.err = out.err
		select {
		case o.wrote <- done:
		case <-ended:
			return
		}
	}
}

// writer puts short lines together and passes long ones on as they are. After
// an error it takes everything and writes nothing.
type writer struct {
	to    io.Writer
	moved *atomic.Int64
	block []byte
	err   error
}

func (w *writer) add(b []byte) {
	if len(w.block)+len(b) > cap(w.block) {
		w.flush()
	}
	if len(b) >= cap(w.block) {
		w.write(b)
		return
	}
	w.block = append(w.block, b...)
}

func (w *writer) flush() {
	if len(w.block) > 0 {
		w.write(w.block)
	}
	w.block = w.block[:0]
}

func (w *writer) write(b []byte) {
	for w.err == nil && len(b) > 0 {
		var n int
		n, w.err = w.to.Write(b[:min(len(b), writeBlock)])
		w.moved.Add(int64(n))
		b = b[n:]
	}
}
