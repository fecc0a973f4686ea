package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sidetask/rpc"
	"sidetask/tools"
)

// confirmTimeout is how long a client may take from the answer of a tools/call
// to its tools/delivered; then the answer counts as lost and its bytes come again.
const confirmTimeout = 60 * time.Second

// errPeerGone is the answer to our request of a client that cannot answer.
var errPeerGone = errors.New("the connection is gone")

// end asks the connection to end, its ready answers written as long as ctx
// lasts. It does not wait.
func (c *conn) end(ctx context.Context) {
	context.AfterFunc(ctx, c.cancel) // whatever still holds it up then
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = ctx
	_ = c.nc.SetReadDeadline(time.Unix(1, 0)) // serve goes on to drain
}

func (c *conn) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending != nil
}

// drain is the orderly part of an end: waits are aborted, answers written.
func (c *conn) drain() {
	c.mu.Lock()
	ctx := c.ending
	for open := range c.open {
		if ctx != nil {
			open.cancel()
		}
	}
	c.mu.Unlock()
	if ctx == nil {
		return
	}
	if c.await(ctx, func() bool { return len(c.open) == 0 || c.ctx.Err() != nil }) == nil {
		_ = c.out.flushed(ctx)
	}
}

// atEnd has f run when the connection is over; only for handlers, which are
// over before.
func (c *conn) atEnd(f func()) {
	c.mu.Lock()
	c.onEnd = append(c.onEnd, f)
	c.mu.Unlock()
}

// undo takes back all that lives as long as the connection: what its agent has
// not confirmed is lost, its owners have no host, its tasks no producer.
func (c *conn) undo() {
	c.mu.Lock()
	calls := c.unconfirmed
	c.unconfirmed = nil
	last := c.onEnd
	for _, m := range c.mounts {
		last = append(last, m.detach)
	}
	unstarted := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, lost := range calls {
		for _, lost := range lost {
			lost.timer.Stop()
			lost.deliver(false)
		}
	}
	for _, never := range unstarted {
		never.cancel()
	}
	for i := len(last) - 1; i >= 0; i-- {
		last[i]()
	}
	c.server.gone(c)
}

// answer queues the answer of a call; with it its reports become final, or
// void when it cannot be written.
func (c *conn) answer(done *call, r response) {
	if done.id == nil { // a notification: nobody learns what it found
		done.deliver(false)
		return
	}
	r.JSONRPC, r.ID = "2.0", done.id
	line, err := encode(r)
	if err != nil {
		done.deliver(false)
		c.server.log.Error("cannot encode an answer", "method", done.method, "error", err)
		line, _ = encode(response{JSONRPC: "2.0", ID: done.id, Error: rpc.Errorf(rpc.CodeInternal, "the answer cannot be encoded")})
	}
	if done.agent && len(done.receipts) > 0 {
		c.expectConfirm(done)
		c.out.send(line, func(written bool) {
			if !written {
				c.unconfirm(done)
			}
		})
		return
	}
	c.out.send(line, done.deliver)
}

// deliver says to all reports of a call whether they have arrived.
func (c *call) deliver(arrived bool) {
	receipts := c.receipts
	c.receipts = nil
	for _, receipt := range receipts {
		if arrived {
			receipt.Delivered()
		} else {
			receipt.Failed()
		}
	}
}

// expectConfirm keeps the reports of an answer until tools/delivered.
func (c *conn) expectConfirm(done *call) {
	id := string(done.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unconfirmed[id] = append(c.unconfirmed[id], done)
	done.timer = time.AfterFunc(confirmTimeout, func() { c.unconfirm(done) })
}

// unconfirm gives an answer up: it has not been written, or its client does
// not say that it arrived.
func (c *conn) unconfirm(done *call) {
	id := string(done.id)
	c.mu.Lock()
	i := slices.Index(c.unconfirmed[id], done)
	if i >= 0 {
		c.unconfirmed[id] = slices.Delete(c.unconfirmed[id], i, i+1)
	}
	if len(c.unconfirmed[id]) == 0 {
		delete(c.unconfirmed, id)
	}
	c.mu.Unlock()
	if i >= 0 {
		done.timer.Stop()
		done.deliver(false)
	}
}

// confirm is tools/delivered.
func (c *conn) confirm(params json.RawMessage) {
	var which rpc.ToolsDelivered
	if json.Unmarshal(params, &which) != nil {
		return
	}
	id := string(which.ID)
	c.mu.Lock()
	calls := c.unconfirmed[id]
	delete(c.unconfirmed, id)
	c.mu.Unlock()
	for _, done := range calls {
		done.timer.Stop()
		done.deliver(true)
	}
}

// notify queues a notification.
func (c *conn) notify(method string, params any) {
	if line, err := encode(request{JSONRPC: "2.0", Method: method, Params: params}); err == nil {
		c.out.send(line, nil)
	}
}

// raise queues a notification of which only the newest with that key matters.
func (c *conn) raise(key, method string, params any) {
	c.out.raise(key, func() []byte {
		line, _ := encode(request{JSONRPC: "2.0", Method: method, Params: params})
		return line
	})
}

// ask sends the client a request and waits for its answer. The error is the
// client's own ([rpc.Error]), that of ctx,
// errPeerGone, or what is wrong with its answer, in words for a model.
func (c *conn) ask(ctx context.Context, method string, params, result any) error {
	reply := make(chan message, 1)
	c.mu.Lock()
	if c.inputEnded {
		c.mu.Unlock()
		return errPeerGone
	}
	c.lastAsked++
	id := c.lastAsked
	c.asked[id] = reply
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	line, err := encode(request{JSONRPC: "2.0", ID: &id, Method: method, Params: params})
	if err != nil {
		return err
	}
	c.out.send(line, nil)
	select {
	case m := <-reply:
		if m.err != nil {
			return m.err
		}
		if m.result == nil {
			return rpc.Errorf(rpc.CodeInvalidRequest, "an answer without result")
		}
		if err := json.Unmarshal(m.result, result); err != nil {
			return fmt.Errorf("its answer to %s is wrong: %w", method, tools.Plain(err))
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return errPeerGone
	}
}

// answered hands the answer of a client to who asked. One that nobody waits
// for any more is dropped.
func (c *conn) answered(m message) {
	id, err := strconv.ParseUint(string(m.id), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	reply := c.asked[id]
	delete(c.asked, id)
	c.mu.Unlock()
	if reply != nil {
		reply <- m
	}
}

func (c *conn) boundTo() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

func (c *conn) describe() rpc.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return rpc.Client{Name: c.client.Name, Version: c.client.Version, PID: c.peer.pid, Notes: c.note}
}
