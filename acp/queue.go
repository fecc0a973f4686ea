package acp

import (
	"io"

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
	next   [][]byte
	size   int // bytes in next and at the writer
	work   chan [][]byte
	wrote  chan written
	failed bool

	streaming bool     // a line that is passed on in pieces has not ended
	after     [][]byte // what is to come behind it
}

// written is what the writer has done with one batch.
type written struct {
	bytes int
	err   error
}

func newOutlet() *outlet {
	return &outlet{work: make(chan [][]byte), wrote: make(chan written)}
}

// line queues a whole line of ours or of the other side.
func (o *outlet) line(b []byte) {
	if o.streaming {
		o.size += len(b)
		o.after = append(o.after, b)
		return
	}
	o.push(b)
}

// piece queues a piece of a line that is too long to be kept.
func (o *outlet) piece(l wire.Line) {
	o.push(l.Bytes)
	if o.streaming = l.More; !o.streaming {
		o.next = append(o.next, o.after...)
		o.after = nil
	}
}

func (o *outlet) push(b []byte) {
	if !o.failed {
		o.next = append(o.next, b)
		o.size += len(b)
	}
}

// full reports whether the other side must wait.
func (o *outlet) full() bool { return o.size >= queueLimit }

// ready gives the channel to send next on, or nil when there is nothing.
func (o *outlet) ready() chan<- [][]byte {
	if len(o.next) == 0 {
		return nil
	}
	return o.work
}

// taken notes that the writer has taken next.
func (o *outlet) taken() { o.next = nil }

// done notes what was written. After a failure the peer is gone: what comes is dropped.
func (o *outlet) done(w written) {
	o.size -= w.bytes
	if w.err != nil {
		o.failed, o.next, o.after, o.size = true, nil, nil, 0
	}
}

// idle reports whether everything has been written.
func (o *outlet) idle() bool { return o.failed || o.size == 0 }

// writeAll is the writer: it writes batches until work is closed, or the loop
// has ended.
func (o *outlet) writeAll(w io.Writer, ended <-chan struct{}) {
	block := make([]byte, 0, writeBlock)
	for batch := range o.work {
		var done written
		block = block[:0]
		flush := func() {
			if done.err == nil && len(block) > 0 {
				_, done.err = w.Write(block)
			}
			block = block[:0]
		}
		for _, b := range batch {
			done.bytes += len(b)
			if len(block)+len(b) > cap(block) {
				flush()
			}
			if len(b) >= cap(block) {
				if done.err == nil {
					_, done.err = w.Write(b)
				}
				continue
			}
			block = append(block, b...)
		}
		flush()
		select {
		case o.wrote <- done:
		case <-ended:
			return
		}
	}
}
