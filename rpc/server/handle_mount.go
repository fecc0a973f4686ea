package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"sidetask/config"
	"sidetask/rpc"
	"sidetask/scope"
	"sidetask/tools"
)

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

// Times that a policy may have to answer.
const (
	defaultPolicyTimeout = 5000
	maxPolicyTimeout     = 600_000
)

func policyAttach(c *call, p rpc.PolicyAttach) (any, error) {
	at, err := scope.Parse(p.Scope)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
	}
	attachment := tools.Attachment{Scope: at, Tools: p.Tools, From: c.conn}
	for _, stage := range p.Stages {
		switch stage {
		case "pre":
			attachment.Before = true
		case "post":
			attachment.After = true
		default:
			return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: stage %q must be "pre" or "post"`, cut(stage, 100))
		}
	}
	if len(p.Stages) == 0 {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "stages" must name "pre", "post" or both`)
	}
	for i, name := range p.Tools {
		if slices.Contains(p.Tools[:i], name) {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: \"tools\" names %q twice", name)
		}
		if !slices.Contains([]string{tools.Start, tools.Output, tools.List, tools.Kill}, name) {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: %q is none of the tools", cut(name, 100))
		}
	}
	ms := p.TimeoutMs
	if ms == 0 {
		ms = defaultPolicyTimeout
	}
	if ms < 1 || ms > maxPolicyTimeout {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "timeoutMs" must be 1 to %d`, maxPolicyTimeout)
	}
	attachment.Timeout = time.Duration(ms) * time.Millisecond
	if err := c.conn.hold(); err != nil {
		return nil, err
	}
	c.conn.stay()
	detach := c.conn.server.engine.Tools.Attach(askedPolicy{c.conn}, attachment)
	c.conn.atEnd(detach)
	return rpc.PolicyAttached{Policy: c.conn.server.nextPolicy()}, nil
}

// askedPolicy is a policy at the other end of a connection.
type askedPolicy struct{ conn *conn }

// Pre asks policy/pre.
func (p askedPolicy) Pre(ctx context.Context, r tools.PreRequest) (answer tools.PreAnswer, err error) {
	err = p.ask(ctx, rpc.MethodPolicyPre, r, &answer)
	return answer, err
}

// Post asks policy/post.
func (p askedPolicy) Post(ctx context.Context, r tools.PostRequest) (answer tools.PostAnswer, err error) {
	err = p.ask(ctx, rpc.MethodPolicyPost, r, &answer)
	return answer, err
}

func (p askedPolicy) ask(ctx context.Context, method string, request, answer any) error {
	err := p.conn.ask(ctx, method, request, answer)
	var own *rpc.Error
	if errors.As(err, &own) {
		return &tools.PolicyError{Message: own.Message}
	}
	return err
}
