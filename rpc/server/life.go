package server

import (
	"context"
	"time"

	"sidetask/rpc"
)

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

// hold counts what lives as long as the connection; it is refused past the bound.
func (c *conn) hold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held >= maxHeld {
		return rpc.Errorf(rpc.CodeLimitReached, "too many mounts, policies and subscriptions of one connection (limit: %d)", maxHeld)
	}
	c.held++
	return nil
}

func (c *conn) letGo() {
	c.mu.Lock()
	c.held--
	c.mu.Unlock()
}
