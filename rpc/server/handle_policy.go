package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"sidetask/rpc"
	"sidetask/scope"
	"sidetask/tools"
)

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
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "timeoutMs" must be at most %d, and not negative`, maxPolicyTimeout)
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
