package client

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/sourcegraph/jsonrpc2"

	"sidetask/rpc"
)

// ErrLost says that the connection ended before the answer came: whether the
// call was executed is not known.
var ErrLost = errors.New("the connection to the daemon was lost")

// Call calls method and decodes the answer into result (nil drops it). An
// error answer is an [*rpc.Error]. When ctx ends first, the daemon is told to
// end the wait ($/cancel_request) and ctx's error is returned at once.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	_, err := c.call(ctx, method, params, result)
	return err
}

// CallDelivered is [Client.Call] for a tools/call of a client that said
// [Options.Delivered]: delivered tells the daemon that the answer has reached
// the agent. Not calling it, or losing the connection before, makes the daemon
// give the notice and the output again (ARCHITECTURE, decision 10). It is
// never nil and does nothing after an error.
func (c *Client) CallDelivered(ctx context.Context, method string, params, result any) (delivered func(), err error) {
	id, err := c.call(ctx, method, params, result)
	if err != nil {
		return func() {}, err
	}
	return func() {
		// A connection lost here means that the daemon repeats itself, which
		// is what it promises; there is nobody to tell.
		_ = c.Notify(context.WithoutCancel(ctx), rpc.NotifyToolsDelivered, rpc.ToolsDelivered{ID: id})
	}, nil
}

// Notify sends a notification.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	return wireError(c.conn.Notify(ctx, method, params))
}

func (c *Client) call(ctx context.Context, method string, params, result any) (rpc.RawID, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	num := c.nextID.Add(1)
	id := rpc.RawID(strconv.FormatUint(num, 10))
	call, err := c.conn.DispatchCall(ctx, method, params, jsonrpc2.PickID(jsonrpc2.ID{Num: num}))
	if err != nil {
		return id, wireError(err)
	}
	err = call.Wait(ctx, result)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		// If this cannot be sent the connection is gone, and with it the wait.
		_ = c.conn.Notify(context.WithoutCancel(ctx), rpc.NotifyCancelRequest, rpc.CancelRequest{RequestID: id})
		return id, err
	}
	return id, wireError(err)
}

// wireError turns the library's errors into ours.
func wireError(err error) error {
	var answer *jsonrpc2.Error
	switch {
	case errors.Is(err, jsonrpc2.ErrClosed):
		return ErrLost
	case errors.As(err, &answer):
		e := &rpc.Error{Code: int(answer.Code), Message: answer.Message}
		if answer.Data != nil {
			e.Data = json.RawMessage(*answer.Data)
		}
		return e
	}
	return err
}
