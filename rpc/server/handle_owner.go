package server

import (
	"sidetask/registry"
	"sidetask/render"
	"sidetask/rpc"
	"sidetask/scope"
)

// Pending rings the bell (registry.Host). A host that is slow hears the newest
// count only.
func (c *conn) Pending(owner registry.Handle, count int, lane string) {
	c.raise("pending "+string(owner), rpc.NotifyInboxPending, rpc.InboxPending{Owner: string(owner), Count: count, Lane: lane})
}

// Lost says that another host took the owner over (registry.Host).
func (c *conn) Lost(owner registry.Handle) {
	c.raise("lost "+string(owner), rpc.NotifyOwnerLost, rpc.OwnerLost{Owner: string(owner)})
}

func ownerRegister(c *call, p rpc.OwnerRegister) (any, error) {
	token, err := c.tokenOf(rpc.As{Token: p.Token})
	if err != nil {
		return nil, err
	}
	at := scope.Root
	if p.Scope != "" {
		if at, err = scope.Parse(p.Scope); err != nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
		}
	}
	if len(c.registry().OwnersOf(c.conn)) >= maxHosted {
		return nil, rpc.Errorf(rpc.CodeLimitReached, "too many owners of one connection (limit: %d)", maxHosted)
	}
	handle, err := c.registry().Register(registry.Registration{
		Token: token, Agent: p.Agent, Session: p.Session, Scope: at, Title: p.Title,
		Cwd: p.Cwd, Env: p.Env, Takeover: p.Takeover, Leases: p.Leases,
	}, c.conn)
	if err != nil {
		return nil, err
	}
	c.conn.stay()
	acp := c.conn.server.engine.Live.Current().ACP
	return rpc.OwnerRegistered{
		Owner: string(handle), Pending: len(c.registry().Inbox(handle)),
		ACP: rpc.ACPSettings{ShowWake: acp.ShowWake, MaxDrains: int(acp.MaxDrains), AgentGraceMs: acp.AgentGraceMs, WakePermissionMs: acp.WakePermissionMs},
	}, nil
}

func ownerBind(c *call, p rpc.OwnerBind) (any, error) {
	token, err := c.tokenOf(rpc.As{Token: p.Token})
	if err != nil {
		return nil, err
	}
	if p.Fresh { // what an earlier owner left is disposed first
		if err := c.waits(); err != nil {
			return nil, err
		}
	}
	handle, err := c.registry().Bind(c.ctx, registry.Binding{
		Token: token, Agent: p.Agent, Session: p.Session, Fresh: p.Fresh, Takeover: p.Takeover,
	}, c.conn)
	if err != nil {
		return nil, err
	}
	return rpc.OwnerBound{Owner: string(handle), Pending: len(c.registry().Inbox(handle))}, nil
}

func ownerAbort(c *call, p rpc.As) (any, error) {
	handle, err := c.owner(p)
	if err != nil {
		return nil, err
	}
	c.registry().AbortWaits(handle)
	return rpc.Empty{}, nil
}

func ownerUpdate(c *call, p rpc.OwnerUpdate) (any, error) {
	handle, err := c.owner(p.As)
	if err != nil {
		return nil, err
	}
	if p.Note != nil { // one line, as the client's name
		*p.Note = render.OneLine(*p.Note)
	}
	change := registry.OwnerChange{Title: p.Title, Cwd: p.Cwd, Env: p.Env, Note: p.Note}
	if status := registry.OwnerStatus(p.Status); status != "" {
		change.Status = &status
	}
	if err := c.registry().Update(handle, change); err != nil {
		return nil, err
	}
	if p.Note != nil {
		c.conn.mu.Lock()
		c.conn.note = *p.Note
		c.conn.mu.Unlock()
	}
	return rpc.Empty{}, nil
}

func ownerDispose(c *call, p rpc.OwnerDispose) (any, error) {
	handle, err := c.owner(p.As)
	if err != nil {
		return nil, err
	}
	if err := c.waits(); err != nil {
		return nil, err
	}
	reason := p.Reason
	if reason == "" {
		reason = "owner disposed" // BEHAVIOUR T69
	}
	cancelled, err := c.registry().Dispose(c.ctx, handle, reason)
	if err != nil {
		return nil, err
	}
	if cancelled == nil {
		cancelled = []string{}
	}
	return rpc.OwnerDisposed{Cancelled: cancelled}, nil
}

func ownerList(c *call, _ struct{}) (any, error) {
	engine := &c.conn.server.engine
	owners := c.registry().Owners()
	out := make([]rpc.OwnerInfo, 0, len(owners))
	for _, o := range owners {
		info := rpc.OwnerInfo{
			Owner: string(o.Handle), Agent: o.Agent, Session: o.Session, Scope: string(o.Scope), Status: string(o.Status),
			Title: o.Title, Cwd: o.Cwd, BudgetLeft: int(engine.Wakeup.Budget(o.Handle)),
			Pending: o.Waiting + o.Parked, Tasks: o.Tasks, Wakes: make([]rpc.Wake, len(o.Wakes)),
		}
		if mount, ok := engine.Live.Mount(o.Scope); ok {
			info.Mount = string(mount.Scope)
		}
		for i, wake := range o.Wakes {
			info.Wakes[i] = rpc.Wake{At: wake.At, Tasks: wake.Tasks}
		}
		out = append(out, info)
	}
	return rpc.OwnerListResult{Owners: out}, nil
}
