package server

import (
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
	c.stays = true
	return nil
}

func (c *conn) letGo() {
	c.mu.Lock()
	c.held--
	c.mu.Unlock()
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
	id, detach, err := conn.server.engine.Live.Attach(at, settings, func(reason string) {
		conn.server.log.Info("a mount of a connection is detached", "scope", at, "reason", reason)
	})
	if err != nil {
		conn.letGo()
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
	}
	conn.server.nameMount(at, id)
	conn.mu.Lock()
	conn.mounts[id] = func() {
		conn.server.forgetMount(at, id)
		detach()
	}
	conn.mu.Unlock()
	return rpc.MountAttached{Mount: id}, nil
}

func mountDetach(c *call, p rpc.MountDetach) (any, error) {
	conn := c.conn
	id, name := p.Mount, p.Mount
	switch {
	case (p.Mount == "") == (p.Scope == ""):
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: give "scope", or "mount" as mount/attach gave it`)
	case p.Scope != "":
		at, err := scope.Parse(p.Scope)
		if err != nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
		}
		id, name = conn.server.mountAt(at), p.Scope
	}
	conn.mu.Lock()
	detach := conn.mounts[id]
	delete(conn.mounts, id)
	conn.mu.Unlock()
	if detach == nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "mount %s is none of this connection", cut(name, 100))
	}
	detach()
	conn.letGo()
	return rpc.Empty{}, nil
}

// mountAt is the id of the attached mount at a scope; "" where there is none.
func (s *Server) mountAt(at scope.Path) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mounts[at]
}

// nameMount keeps the id of an attached mount, for mount/list.
func (s *Server) nameMount(at scope.Path, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mounts[at] = id
}

func (s *Server) forgetMount(at scope.Path, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mounts[at] == id {
		delete(s.mounts, at)
	}
}

// mountName is the id of an attached mount, and the scope of one of the file.
func (s *Server) mountName(m config.Mount) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, ok := s.mounts[m.Scope]; ok && m.Origin == "connection" {
		return id
	}
	return string(m.Scope)
}

func mountList(c *call, _ struct{}) (any, error) {
	mounts := c.conn.server.engine.Live.Mounts()
	out := make([]rpc.MountInfo, len(mounts))
	for i, m := range mounts {
		out[i] = rpc.MountInfo{
			Mount: c.conn.server.mountName(m), Scope: string(m.Scope), Origin: m.Origin, Enabled: m.Enabled,
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
