package server

import (
	"cmp"
	"encoding/json"

	"sidetask/config"
	"sidetask/rpc"
	"sidetask/scope"
)

// mount is one that a connection attached. conn.mu guards its fields.
type mount struct {
	at     scope.Path
	detach func() // set when it is in conn.mounts
	lost   bool   // by a reload, before that
}

// mountParams is [rpc.MountAttach] with the settings as they came: they are read
// as strictly as those of the file.
type mountParams struct {
	Scope    string          `json:"scope"`
	Settings json.RawMessage `json:"settings"`
}

func mountAttach(c *call, p mountParams) (any, error) {
	at, err := scope.Parse(p.Scope)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
	}
	settings, err := config.ParseOverrides(p.Settings)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: %s", err)
	}
	conn := c.conn
	if err := conn.hold(); err != nil {
		return nil, err
	}
	m := &mount{at: at}
	id, detach, err := conn.server.engine.Live.Attach(at, settings, func(reason string) {
		conn.server.log.Info("a mount of a connection is detached", "scope", at, "reason", reason)
		conn.loseMount(m)
	})
	if err != nil {
		conn.letGo()
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
	}
	conn.stay()
	conn.keepMount(id, m, detach)
	return rpc.MountAttached{Mount: id}, nil
}

func (c *conn) keepMount(id string, m *mount, detach func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.lost {
		c.held--
		return
	}
	m.detach = detach
	c.mounts[id] = m
}

// loseMount forgets a mount that the configuration has taken away.
func (c *conn) loseMount(m *mount) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.lost = true
	for id, kept := range c.mounts { // none where it is being detached, or not kept yet
		if kept == m {
			delete(c.mounts, id)
			c.held--
		}
	}
}

// takeMount takes out the mount with that id, or at that scope; nil for none.
func (c *conn) takeMount(id string, at scope.Path) *mount {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, m := range c.mounts {
		if name == id || m.at == at {
			delete(c.mounts, name)
			c.held--
			return m
		}
	}
	return nil
}

func mountDetach(c *call, p rpc.MountDetach) (any, error) {
	if (p.Mount == "") == (p.Scope == "") {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: give "scope", or "mount" as mount/attach gave it`)
	}
	var at scope.Path
	if p.Scope != "" {
		var err error
		if at, err = scope.Parse(p.Scope); err != nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
		}
	}
	m := c.conn.takeMount(p.Mount, at)
	if m == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "mount %s is none of this connection", cut(p.Mount+p.Scope, 100))
	}
	m.detach()
	return rpc.Empty{}, nil
}

func mountList(c *call, _ struct{}) (any, error) {
	mounts := c.conn.server.engine.Live.Mounts()
	out := make([]rpc.MountInfo, len(mounts))
	for i, m := range mounts {
		out[i] = rpc.MountInfo{
			Mount: cmp.Or(m.ID, string(m.Scope)), Scope: string(m.Scope), Origin: m.Origin, Enabled: m.Enabled,
			WaitTimeoutMs: m.WaitTimeoutMs, MaxWaitTimeoutMs: m.MaxWaitTimeoutMs,
			CompletionDelivery: m.CompletionDelivery, MaxConsecutiveWakes: m.MaxConsecutiveWakes,
		}
	}
	return rpc.MountListResult{Mounts: out}, nil
}
