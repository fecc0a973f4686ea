package mcp

import (
	"context"
	"errors"
	"time"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// errSilent is a daemon that holds its connection and answers nothing.
var errSilent = errors.New("the daemon is silent")

// callWatched makes a tools/call, which may take as long as a task or a policy
// does, for as long as the daemon answers other questions: one that is stopped
// or hangs must not hold the agent's turn for ever.
func (d *daemon) callWatched(ctx context.Context, c *client.Client, params rpc.ToolsCall, result *rpc.ToolsCallResult) (arrived func(bool), err error) {
	ctx, end := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		d.watch(ctx, c, end)
	}()
	arrived, err = c.CallDelivered(ctx, rpc.MethodToolsCall, params, result)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	end(nil)
	<-watched
	return arrived, err
}

// watch asks the daemon from time to time until ctx ends, and ends it when there
// is no answer in time. An error is one, too.
func (d *daemon) watch(ctx context.Context, c *client.Client, end context.CancelCauseFunc) {
	ticker := time.NewTicker(d.times.ask)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		asked, stop := context.WithTimeout(ctx, d.times.alive)
		err := c.Call(asked, rpc.MethodToolsPresent, rpc.ToolsCall{Name: rpc.ToolList}, nil)
		late := err != nil && asked.Err() != nil && ctx.Err() == nil
		stop()
		if late {
			end(errSilent)
			return
		}
	}
}
