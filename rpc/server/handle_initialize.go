package server

import (
	"sidetask/registry"
	"sidetask/render"
	"sidetask/rpc"
)

// initialize says who the client is. A token binds the connection for good.
func initialize(c *call, p rpc.Initialize) (any, error) {
	conn := c.conn
	if p.ProtocolVersion > rpc.Version {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "the client speaks protocol version %d, this daemon %d: sidetask daemon restart", p.ProtocolVersion, rpc.Version)
	}
	if p.Token != "" {
		if err := registry.CheckToken(p.Token); err != nil {
			return nil, err
		}
	}
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if conn.token != "" && p.Token != "" && !sameToken(p.Token, conn.token) {
		return nil, errBound
	}
	if p.Token != "" {
		conn.token = p.Token
	}
	// One line here, so that nobody who shows it has to think of it.
	conn.client = rpc.Peer{Name: render.OneLine(cut(p.Client.Name, 100)), Version: render.OneLine(cut(p.Client.Version, 100))}
	conn.delivered = p.Capabilities.Delivered
	return rpc.Initialized{
		ProtocolVersion: rpc.Version,
		Server:          rpc.Peer{Name: "sidetask", Version: conn.server.engine.Version},
		Capabilities:    rpc.DaemonCapabilities{Methods: conn.server.names},
	}, nil
}
