package server

import (
	"crypto/subtle"

	"sidetask/registry"
	"sidetask/rpc"
)

var errBound = rpc.Errorf(rpc.CodeUnauthorized, "this connection is bound to one owner: it can act as no other")

func sameToken(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// tokenOf is the token that a call acts with: that of the connection where it
// is bound; "" for a call by session, or of the operator.
func (c *call) tokenOf(as rpc.As) (string, error) {
	bound := c.conn.boundTo()
	if bound == "" {
		return as.Token, nil
	}
	if as.Session != "" || as.Agent != "" || as.Token != "" && !sameToken(as.Token, bound) {
		return "", errBound
	}
	return bound, nil
}

// caller says who makes a call (API.md, Who is calling).
func (c *call) caller(as rpc.As) (registry.Caller, error) {
	token, err := c.tokenOf(as)
	if err != nil {
		return registry.Caller{}, err
	}
	if token == "" {
		return c.bySession(as)
	}
	handle, err := c.registry().ByToken(token)
	if err != nil {
		return registry.Caller{}, err
	}
	return registry.AsOwner(handle), nil
}

func (c *call) bySession(as rpc.As) (registry.Caller, error) {
	if as.Session == "" {
		if as.Agent != "" {
			return registry.Caller{}, rpc.Errorf(rpc.CodeInvalidParams, "invalid params: agent without session")
		}
		return registry.AsOperator(), nil
	}
	handle, err := c.registry().Named(as.Agent, as.Session)
	if err != nil {
		return registry.Caller{}, err
	}
	return registry.AsOwner(handle), nil
}

// awaitCaller is caller for what a model does: a token that is unknown or has
// no host is waited for (registry.AwaitToken).
func (c *call) awaitCaller(as rpc.As) (registry.Caller, error) {
	token, err := c.tokenOf(as)
	if err != nil {
		return registry.Caller{}, err
	}
	if token == "" {
		return c.bySession(as)
	}
	if handle, err := c.registry().ByToken(token); err == nil {
		if owner, ok := c.registry().Owner(handle); ok && owner.Host != nil {
			return registry.AsOwner(handle), nil
		}
	}
	if err := c.waits(); err != nil {
		return registry.Caller{}, err
	}
	handle, err := c.registry().AwaitToken(c.ctx, token)
	if err != nil {
		return registry.Caller{}, err
	}
	return registry.AsOwner(handle), nil
}

// owner is the owner that a call must act as.
func (c *call) owner(as rpc.As) (registry.Handle, error) {
	caller, err := c.caller(as)
	if err != nil {
		return "", err
	}
	handle, ok := caller.Owner()
	if !ok {
		return "", rpc.Errorf(rpc.CodeInvalidParams, "%s needs an owner: give its token, or its session", c.method)
	}
	return handle, nil
}

func (c *call) registry() *registry.Registry { return c.conn.server.engine.Registry }
