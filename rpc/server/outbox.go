package server

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"sidetask/rpc"
)

// writeSlice is how much is given to the kernel under one deadline: a slow
// client must take that much, not a whole message, in time.
const writeSlice = 64 << 10

// outbox is what one connection has to write. Sending never blocks; who makes
// new answers asks for room first, so that what waits for a slow client stays
// bounded (API.md, Framing).
type outbox struct {
	conn net.Conn
	slow time.Duration // a client that takes nothing for so long is given up

	mu      sync.Mutex    // guards all below
	queue   []outgoing    // not yet taken by the writer
	flags   []flag        // notifications of which only the newest counts
	bytes   int           // in queue and in the writer's hands
	changed chan struct{} // closed and replaced when any of this changes
	closed  bool
}

// outgoing is one message. done, if any, is called once: with true when its
// last byte has been given to the kernel, with false when that will not be.
type outgoing struct {
	data []byte
	done func(written bool)
}

// flag is a notification that is made only when the writer gets to it: a later
// one of the same key replaces it.
type flag struct {
	key  string
	make func() []byte
}

func newOutbox(conn net.Conn, slow time.Duration) *outbox {
	return &outbox{conn: conn, slow: slow, changed: make(chan struct{})}
}

func (o *outbox) changedLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// send queues a message.
func (o *outbox) send(data []byte, done func(written bool)) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		if done != nil {
			done(false)
		}
		return
	}
	o.queue = append(o.queue, outgoing{data, done})
	o.bytes += len(data)
	o.changedLocked()
	o.mu.Unlock()
}

// raise queues a notification of which only the newest of that key matters.
func (o *outbox) raise(key string, make func() []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	for i := range o.flags {
		if o.flags[i].key == key {
			o.flags[i].make = make
			return
		}
	}
	o.flags = append(o.flags, flag{key, make})
	o.changedLocked()
}

// room waits until another answer may be made.
func (o *outbox) room(ctx context.Context) error {
	return o.await(ctx, func() bool { return o.bytes <= rpc.MaxUnwrittenBytes })
}

// flushed waits until everything is written.
func (o *outbox) flushed(ctx context.Context) error {
	return o.await(ctx, o.emptyLocked)
}

func (o *outbox) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.emptyLocked()
}

func (o *outbox) emptyLocked() bool { return o.bytes == 0 && len(o.flags) == 0 }

// await waits until ok, called with the lock held, says so; also ends when the
// outbox is closed.
func (o *outbox) await(ctx context.Context, ok func() bool) error {
	for {
		o.mu.Lock()
		done, closed, changed := ok(), o.closed, o.changed
		o.mu.Unlock()
		switch {
		case closed:
			return net.ErrClosed
		case done:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run writes until ctx ends, the client is gone, or it takes nothing for too
// long. What is left then counts as not written.
func (o *outbox) run(ctx context.Context, written func()) error {
	defer o.close()
	for {
		next, ok := o.take()
		if !ok {
			if err := o.await(ctx, func() bool { return len(o.queue) > 0 || len(o.flags) > 0 }); err != nil {
				return err
			}
			continue
		}
		err := o.write(next.data)
		if next.done != nil {
			next.done(err == nil)
		}
		if err != nil {
			return err
		}
		o.mu.Lock()
		o.bytes -= len(next.data)
		o.changedLocked()
		o.mu.Unlock()
		written()
	}
}

// take gives the next message to the writer, answers before flags.
func (o *outbox) take() (outgoing, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) > 0 {
		next := o.queue[0]
		o.queue[0] = outgoing{}
		o.queue = o.queue[1:]
		return next, true
	}
	if len(o.flags) > 0 {
		next := outgoing{data: o.flags[0].make()}
		o.flags = o.flags[1:]
		o.bytes += len(next.data)
		return next, true
	}
	return outgoing{}, false
}

func (o *outbox) write(data []byte) error {
	for len(data) > 0 {
		if err := o.conn.SetWriteDeadline(time.Now().Add(o.slow)); err != nil {
			return err
		}
		n, err := o.conn.Write(data[:min(len(data), writeSlice)])
		data = data[n:]
		if err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

// close fails what has not been written and refuses what comes.
func (o *outbox) close() {
	o.mu.Lock()
	left := o.queue
	o.queue, o.flags, o.closed = nil, nil, true
	o.changedLocked()
	o.mu.Unlock()
	for _, m := range left {
		if m.done != nil {
			m.done(false)
		}
	}
}
