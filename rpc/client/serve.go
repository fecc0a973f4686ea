package client

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/sourcegraph/jsonrpc2"

	"sidetask/rpc"
)

// dispatcher receives what the daemon sends. The library calls it in its read
// loop, so it must never wait: answers would not be read meanwhile.
type dispatcher struct{ c *Client }

// Handle queues a notification or gives a request its goroutine.
func (d dispatcher) Handle(ctx context.Context, conn *jsonrpc2.Conn, req *jsonrpc2.Request) {
	<-d.c.ready
	if req.Notif {
		select {
		case d.c.notes <- req:
		default:
			_ = d.c.stream.Close() // hopelessly behind: see maxNotifications
		}
		return
	}
	select {
	case d.c.slots <- struct{}{}:
		d.c.work.Go(func() {
			defer func() { <-d.c.slots }()
			d.c.answer(ctx, req)
		})
	default:
		_ = conn.ReplyWithError(ctx, req.ID, wireAnswer(rpc.Errorf(rpc.CodeLimitReached, "too many open calls")))
	}
}

// deliver hands notifications to the handler, in order. It ends with the
// connection; what is then still queued is dropped with it.
func (c *Client) deliver(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case req := <-c.notes:
			if c.handle != nil {
				_, _ = c.handle(ctx, c, req.Method, raw(req.Params))
			}
		}
	}
}

// answer runs the handler for one request of the daemon.
func (c *Client) answer(ctx context.Context, req *jsonrpc2.Request) {
	if c.handle == nil {
		_ = c.conn.ReplyWithError(ctx, req.ID, wireAnswer(rpc.Errorf(rpc.CodeMethodNotFound, "this client answers no %s", req.Method)))
		return
	}
	result, err := c.handle(ctx, c, req.Method, raw(req.Params))
	if err != nil {
		_ = c.conn.ReplyWithError(ctx, req.ID, wireAnswer(err))
		return
	}
	if result == nil {
		result = rpc.Empty{}
	}
	if err := c.conn.Reply(ctx, req.ID, result); err != nil && !errors.Is(err, jsonrpc2.ErrClosed) {
		_ = c.conn.ReplyWithError(ctx, req.ID, wireAnswer(err)) // a result that cannot be encoded
	}
}

func wireAnswer(err error) *jsonrpc2.Error {
	var e *rpc.Error
	if !errors.As(err, &e) {
		e = &rpc.Error{Code: rpc.CodeInternal, Message: err.Error()}
	}
	answer := &jsonrpc2.Error{Code: int64(e.Code), Message: e.Message}
	if e.Data != nil {
		answer.Data = &e.Data
	}
	return answer
}

func raw(params *json.RawMessage) json.RawMessage {
	if params == nil {
		return nil
	}
	return *params
}
