package client

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"sidetask/rpc"
)

// ErrLost says that the connection ended before the answer came: whether the
// call was executed is not known.
var ErrLost = errors.New("the connection to the daemon was lost")

// Call calls method and decodes the answer into result (nil drops it, a
// [*json.RawMessage] gets it as it came, unlooked at). An
// error answer is an [*rpc.Error]. When ctx ends first, the daemon is told to
// end the wait ($/cancel_request) and ctx's error is returned at once.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	_, err := c.call(ctx, method, params, result)
	return err
}

// CallDelivered is [Client.Call] for a tools/call of a client that said
// [Options.Delivered]: arrived tells the daemon whether the answer has reached
// the agent. If not, or if the connection is lost before, the daemon gives the
// notice and the output again (ARCHITECTURE, decision 10). It is never nil and
// does nothing after an error.
func (c *Client) CallDelivered(ctx context.Context, method string, params, result any) (arrived func(bool), err error) {
	id, err := c.call(ctx, method, params, result)
	if err != nil {
		return func(bool) {}, err
	}
	return func(yes bool) {
		ctx := context.WithoutCancel(ctx)
		// A connection lost here means that the daemon repeats itself, which
		// is what it promises; there is nobody to tell.
		if yes {
			_ = c.Notify(ctx, rpc.NotifyToolsDelivered, rpc.ToolsDelivered{ID: id})
		} else {
			_ = c.Notify(ctx, rpc.NotifyCancelRequest, rpc.CancelRequest{RequestID: id})
		}
	}, nil
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	raw, err := marshal(params)
	if err != nil {
		return err
	}
	return c.conn.write(message{Method: method, Params: raw})
}

func (c *Client) call(ctx context.Context, method string, params, result any) (rpc.RawID, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	raw, err := marshal(params)
	if err != nil {
		return nil, err
	}
	num, answer, err := c.conn.begin()
	if err != nil {
		return nil, err
	}
	defer c.conn.forget(num)
	id := rpc.RawID(strconv.FormatUint(num, 10))
	if err := c.conn.write(message{ID: id, Method: method, Params: raw}); err != nil {
		return id, err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return id, c.conn.lost()
		case m.Error != nil:
			return id, m.Error
		case result == nil:
			return id, nil
		}
		if raw, ok := result.(*json.RawMessage); ok {
			*raw = m.Result
			return id, nil
		}
		return id, json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		// If this cannot be sent the connection is gone, and with it the wait.
		_ = c.Notify(context.WithoutCancel(ctx), rpc.NotifyCancelRequest, rpc.CancelRequest{RequestID: id})
		return id, ctx.Err()
	}
}

// marshal encodes parameters; nil is none.
func marshal(params any) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	return encode(params)
}
