package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"

	"sidetask/rpc"
)

// conn is one connection. Its goroutines are the reader (serve), the writer
// (outbox.run), one dispatcher, the waiting calls, and the subscriptions; all
// end with ctx, and serve waits for them.
type conn struct {
	server *Server
	nc     *net.UnixConn
	peer   credentials
	out    *outbox
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	wg     sync.WaitGroup
	inputs inputs // of task/write

	mu           sync.Mutex // guards all below; taken before outbox.mu
	changed      chan struct{}
	pending      []*call // read and not started, in the order sent
	pendingBytes int
	open         map[*call]struct{} // read and not answered
	waiting      int                // calls beside which others may start
	inputEnded   bool
	stays        bool // lives on after its input ended: somebody may have something to tell it
	watches      bool // see watch
	ending       context.Context
	asked        map[uint64]chan message
	lastAsked    uint64
	unconfirmed  map[string][]*call // answered, but the agent may not have it yet
	token        string             // of initialize: bound for good
	client       rpc.Peer
	note         string
	delivered    bool               // says tools/delivered
	held         int                // mounts, policies, subscriptions
	mounts       map[string]*mount  // by id
	unsubscribe  context.CancelFunc // of task/subscribe
	onEnd        []func()
}

func newConn(s *Server, nc *net.UnixConn, peer credentials) *conn {
	c := &conn{
		server: s, nc: nc, peer: peer, out: newOutbox(nc, s.slow),
		changed: make(chan struct{}), open: make(map[*call]struct{}),
		asked: make(map[uint64]chan message), unconfirmed: make(map[string][]*call),
		mounts: make(map[string]*mount),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// serve runs the connection until it is over and everything of it is undone.
func (c *conn) serve() {
	stop := context.AfterFunc(c.ctx, func() { _ = c.nc.Close() }) // frees who reads or writes
	defer stop()
	c.wg.Go(func() {
		if err := c.out.run(c.ctx, c.closeIfDone); err != nil {
			c.cancel()
		}
	})
	c.wg.Go(c.dispatch)
	err := c.read()
	c.endInput()
	if errors.Is(err, io.EOF) {
		_ = awaitHangup(c.ctx, c.nc)
	}
	var refused *rpc.Error
	if errors.As(err, &refused) {
		_ = c.out.flushed(c.ctx)
	}
	c.drain()
	c.cancel()
	c.wg.Wait()
	_ = c.nc.Close()
	c.undo()
}

// read takes messages until the input ends or a message is too large or stands still.
// Answers and notifications are handled at once, requests queue.
func (c *conn) read() error {
	in := newFrames(c.nc, func() int64 { return c.server.limits().MaxMessageBytes }, &reception{conn: c})
	for {
		data, err := in.next()
		if errors.Is(err, os.ErrDeadlineExceeded) && !c.isEnding() {
			err = errUnfinished
		}
		var refused *rpc.Error
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		m := message{id: json.RawMessage("null")}
		switch {
		case refused == nil:
			m, refused = parseMessage(data)
		case refused.Code != rpc.CodeParse:
			c.answer(&call{conn: c, id: m.id}, response{Error: refused})
			return refused
		}
		switch {
		case refused != nil:
			c.push(&call{id: m.id, refuse: refused, size: callBytes})
		case m.answer:
			c.answered(m)
		case m.id == nil && m.method == rpc.NotifyCancelRequest:
			c.cancelCalls(m.params)
		case m.id == nil && m.method == rpc.NotifyToolsDelivered:
			c.confirm(m.params)
		default:
			c.push(&call{id: m.id, method: m.method, params: m.params, size: callBytes + len(data)})
		}
	}
}

// push queues a request. It waits while more than the bound has been read
// ahead: then the client neither waits for nor takes its answers.
func (c *conn) push(next *call) {
	next.conn = c
	next.ctx, next.cancel = context.WithCancel(c.ctx)
	_ = c.await(c.ctx, func() bool { return c.pendingBytes == 0 || c.pendingBytes+next.size <= maxPendingBytes })
	c.mu.Lock()
	c.pending = append(c.pending, next)
	c.pendingBytes += next.size
	c.open[next] = struct{}{}
	c.changedLocked()
	c.mu.Unlock()
}

func (c *conn) changedLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits until ok, called with the lock held, says so.
func (c *conn) await(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		done, changed := ok(), c.changed
		c.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// dispatch starts requests in the order sent, each when the one before is
// finished. A call that waits leaves the dispatch to a successor (letNextIn).
func (c *conn) dispatch() {
	for {
		next := c.next()
		if next == nil {
			return
		}
		next.run()
		c.finished(next)
		if next.waiting {
			return
		}
	}
}

// next is the next request when there is room for its answer; nil at the end.
func (c *conn) next() *call {
	if c.await(c.ctx, func() bool { return len(c.pending) > 0 || c.inputEnded }) != nil || c.out.room(c.ctx) != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		return nil
	}
	next := c.pending[0]
	c.pending[0] = nil
	c.pending = c.pending[1:]
	c.pendingBytes -= next.size
	c.changedLocked()
	return next
}

// letNextIn starts a successor of the dispatcher; false when as many calls
// wait as may.
func (c *conn) letNextIn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= rpc.MaxOpenCalls {
		return false
	}
	c.waiting++
	c.wg.Go(c.dispatch)
	return true
}

// noLongerWaits frees a call's place, before its answer tells the client so.
func (c *conn) noLongerWaits() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
}

func (c *conn) finished(done *call) {
	done.cancel()
	c.mu.Lock()
	delete(c.open, done)
	c.changedLocked()
	c.mu.Unlock()
	c.closeIfDone()
}

// cancelCalls is $/cancel_request: the wait of the calls with that very id
// ends. An answer that is on its way to the agent will be dropped by who
// cancelled it, and counts as lost.
func (c *conn) cancelCalls(params json.RawMessage) {
	var which rpc.CancelRequest
	if json.Unmarshal(params, &which) != nil {
		return // a notification has no answer
	}
	id := string(which.RequestID)
	c.mu.Lock()
	for open := range c.open {
		if open.id != nil && string(open.id) == id {
			open.cancel()
		}
	}
	dropped := slices.Clone(c.unconfirmed[id])
	c.mu.Unlock()
	for _, done := range dropped {
		c.unconfirm(done)
	}
}

func (c *conn) endInput() {
	c.mu.Lock()
	c.inputEnded = true
	c.changedLocked()
	c.mu.Unlock()
	c.closeIfDone()
}

// stay keeps the connection after the end of its input: it has subscribed to
// something, or is somebody's host.
func (c *conn) stay() {
	c.mu.Lock()
	c.stays = true
	c.mu.Unlock()
}

// closeIfDone ends a half-closed connection when it has all its answers.
func (c *conn) closeIfDone() {
	c.mu.Lock()
	done := c.inputEnded && !c.stays && c.ending == nil && len(c.open) == 0
	c.mu.Unlock()
	if done && c.out.empty() {
		c.cancel()
	}
}
