package client

import (
	"context"
	"encoding/json"
	"errors"

	"sidetask/rpc"
)

// receive takes what the daemon sends that is no answer. It is called in the
// read loop, so it never waits for a handler.
func (c *Client) receive(ctx context.Context, m message) {
	if m.ID == nil {
		select {
		case c.notes <- m:
		default:
			_ = c.conn.net.Close() // hopelessly behind: see maxNotifications
		}
		return
	}
	select {
	case c.slots <- struct{}{}:
		c.work.Go(func() {
			defer func() { <-c.slots }()
			c.answer(ctx, m)
		})
	default:
		// The daemon always reads answers (API.md, Framing), so this does not hold up our reading.
		_ = c.conn.write(message{ID: m.ID, Error: rpc.Errorf(rpc.CodeLimitReached, "too many open calls")})
	}
}

// deliver hands notifications to the handler, in order. It ends with the
// connection; what is then still queued is dropped with it.
func (c *Client) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-c.notes:
			if c.handle != nil {
				_, _ = c.handle(ctx, c, m.Method, m.Params)
			}
		}
	}
}

// answer runs the handler for one request of the daemon.
func (c *Client) answer(ctx context.Context, m message) {
	reply := message{ID: m.ID}
	switch {
	case c.handle == nil:
		reply.Error = rpc.Errorf(rpc.CodeMethodNotFound, "this client answers no %s", m.Method)
	default:
		result, err := c.handle(ctx, c, m.Method, m.Params)
		if result == nil {
			result = rpc.Empty{}
		}
		if err == nil {
			reply.Result, err = json.Marshal(result)
		}
		if err != nil && !errors.As(err, &reply.Error) {
			reply.Error = &rpc.Error{Code: rpc.CodeInternal, Message: err.Error()}
		}
	}
	_ = c.conn.write(reply) // lost: then nobody waits for it
}
