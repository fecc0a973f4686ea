package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"sidetask/registry"
	"sidetask/render"
	"sidetask/rpc"
	"sidetask/tools"
)

// resolveTimeout is how long a host may take to say whose call it is.
const resolveTimeout = 3 * time.Second

func toolsList(*call, struct{}) (any, error) {
	var out rpc.ToolsListResult
	for _, t := range render.Tools() {
		out.Tools = append(out.Tools, rpc.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	out.Instructions = render.Instructions()
	return out, nil
}

func toolsPresent(_ *call, p rpc.ToolsCall) (any, error) {
	card, ok := render.CardOf(p.Name, p.Arguments)
	if !ok {
		return rpc.Card{}, nil
	}
	return rpc.Card{Card: "generic", Title: card.Title, Kind: card.Kind, RawInput: card.RawInput}, nil
}

func toolsCall(c *call, p rpc.ToolsCall) (any, error) {
	by, err := c.awaitCaller(p.As)
	if err != nil {
		return nil, err
	}
	if c.agent = c.conn.confirms(); c.agent && p.Name == tools.Output {
		// The read before it becomes final only when its agent has it.
		if err := c.waits(); err != nil {
			return nil, err
		}
	}
	if by, err = c.resolve(by, p); err != nil {
		return nil, err
	}
	result := c.conn.server.engine.Tools.Call(c.ctx, tools.Call{
		Caller: by, Name: p.Name, Arguments: p.Arguments, From: c.conn, Waits: c.waits,
		MaxWait: time.Duration(min(max(p.MaxWaitMs, 0), maxAgeMs)) * time.Millisecond,
	})
	c.took(p.Name, result)
	// What the model cannot do anything about is for the client, which comes again.
	if result.IsError && !c.began {
		if wire := c.errorOf(result.Err); wire.Code == rpc.CodeShuttingDown {
			return nil, wire
		}
	}
	return rpc.ToolsCallResult{Content: contents(result.Content), Value: result.Value, IsError: result.IsError}, nil
}

func (c *conn) confirms() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.delivered
}

// resolve asks a host with several owners whose call this is (ACP.md §2). It
// may only name one of its own.
func (c *call) resolve(by registry.Caller, p rpc.ToolsCall) (registry.Caller, error) {
	handle, ok := by.Owner()
	if !ok {
		return by, nil
	}
	owner, _ := c.registry().Owner(handle)
	host, ok := owner.Host.(*conn)
	if !ok || host == c.conn {
		return by, nil
	}
	hosted := c.registry().OwnersOf(host)
	if len(hosted) < 2 {
		return by, nil
	}
	if err := c.waits(); err != nil {
		return by, err
	}
	ctx, cancel := context.WithTimeout(c.ctx, resolveTimeout)
	defer cancel()
	var named rpc.OwnerResolved
	err := host.ask(ctx, rpc.MethodOwnerResolve, rpc.OwnerResolve{
		Owner: string(handle), Name: p.Name, Arguments: p.Arguments, Meta: p.Meta,
	}, &named)
	var own *rpc.Error
	switch {
	case errors.As(err, &own):
		return by, rpc.Errorf(rpc.CodeUnauthorized, "%s", own.Message)
	case c.ctx.Err() != nil:
		return by, registry.ErrWaitAborted
	case errors.Is(err, context.DeadlineExceeded):
		return by, rpc.Errorf(rpc.CodeOwnerGone, "the editor's side did not say within %v whose call this is; retry", resolveTimeout)
	case err != nil:
		return by, rpc.Errorf(rpc.CodeOwnerGone, "the editor's connection is not back yet; retry")
	}
	if !slices.Contains(hosted, registry.Handle(named.Owner)) {
		return by, rpc.Errorf(rpc.CodeUnauthorized, "the host named an owner that is none of its own")
	}
	return registry.AsOwner(registry.Handle(named.Owner)), nil
}
