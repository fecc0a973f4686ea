package server

import (
	"context"
	"time"

	"sidetask/registry"
	"sidetask/rpc"
)

func inboxClaim(c *call, p rpc.InboxClaim) (any, error) {
	switch p.Reason {
	case rpc.ClaimWake, rpc.ClaimTurnEnd, rpc.ClaimUser:
	default:
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "reason" must be "wake", "turn-end" or "user"`)
	}
	handle, err := c.owner(p.As)
	if err != nil {
		return nil, err
	}
	take := p.Take == nil || *p.Take
	claim, err := c.conn.server.engine.Wakeup.Claim(handle, p.Reason, take, c.conn)
	if err != nil {
		return nil, err
	}
	return rpc.InboxClaimed{Notices: c.conn.server.notices(claim.Tasks), Lease: claim.Lease, Refused: claim.Refused}, nil
}

func inboxAck(c *call, p rpc.InboxAck) (any, error) {
	handle, err := c.owner(p.As)
	if err != nil {
		return nil, err
	}
	if err := c.registry().Ack(handle, p.Lease); err != nil {
		return nil, err
	}
	return rpc.Empty{}, nil
}

func inboxRelease(c *call, p rpc.InboxAck) (any, error) {
	handle, err := c.owner(p.As)
	if err != nil {
		return nil, err
	}
	if err := c.registry().Release(handle, p.Lease, p.Park); err != nil {
		return nil, err
	}
	return rpc.Empty{}, nil
}

func inboxList(c *call, p rpc.InboxWait) (any, error) {
	handle, err := c.owner(p.As)
	if err != nil {
		return nil, err
	}
	return rpc.InboxNotices{Notices: c.conn.server.notices(c.registry().Inbox(handle))}, nil
}

func inboxWait(c *call, p rpc.InboxWait) (any, error) {
	handle, err := c.owner(p.As)
	if err != nil {
		return nil, err
	}
	ctx := c.ctx
	if optional(p.TimeoutMs) != nil {
		limit, err := registry.ParseWait(p.TimeoutMs, true)
		if err != nil {
			return nil, err
		}
		limited, cancel := context.WithTimeout(ctx, time.Duration(limit*float64(time.Millisecond)))
		defer cancel()
		ctx = limited
	}
	if err := c.waits(); err != nil {
		return nil, err
	}
	tasks, err := c.registry().AwaitInbox(ctx, handle)
	if err != nil {
		return nil, err
	}
	return rpc.InboxNotices{Notices: c.conn.server.notices(tasks)}, nil
}
