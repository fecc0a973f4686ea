package acp

import (
	"bytes"
	"fmt"
	"strings"

	"sidetask/acp/internal/wire"
)

// chain is the proxy as a component under a conductor (ACP.md §6): both sides
// are the one connection. What is for the agent goes out as proxy/successor,
// what comes from it comes in so. The conductor's ids are one space, and so are
// ours, so each message keeps its id. A nil chain is an ordinary proxy.
type chain struct {
	began  bool
	prefix string          // "" or "_", as the conductor spells it
	down   map[string]bool // requests that went to the successor, unanswered
	up     map[string]bool // requests that came from the successor, unanswered
}

const (
	methodChainInit = "proxy/initialize"
	methodSuccessor = "proxy/successor"
)

func newChain() *chain { return &chain{down: map[string]bool{}, up: map[string]bool{}} }

// misplaced answers a conductor's first message where an agent's command was given.
func (p *proxy) misplaced(line []byte, e wire.Envelope, method string) bool {
	if p.chain != nil || !e.Request() || strings.TrimPrefix(method, "_") != methodChainInit {
		return false
	}
	p.answerError(e.ID.Of(line), -32600, "sidetask acp was given an agent command, so it is no component of a chain: start it without one")
	return true
}

// chainLine sorts a line of the conductor: client's or successor's side.
func (p *proxy) chainLine(line []byte, e wire.Envelope) {
	c := p.chain
	method := wire.String(e.Method.Of(line))
	plain := strings.TrimPrefix(method, "_")
	switch {
	case !c.began:
		p.chainInit(line, e, method)
	case e.Method.Absent():
		key := wire.Key(e.ID.Of(line))
		if c.down[key] {
			delete(c.down, key)
			p.agentLine(line)
			return
		}
		p.trace.line(fromEditor, "", line)
		p.fromClient(line, e)
	case plain == methodSuccessor:
		inner := unwrap(line, e)
		switch {
		case inner != nil:
			if e.Request() && len(c.up) < maxOpen {
				c.up[wire.Key(e.ID.Of(line))] = true
			}
			p.agentLine(inner)
		case e.Request():
			p.drop(fromEditor, line)
			p.answerError(e.ID.Of(line), -32602, method+" needs params with the method of a message")
		default:
			p.drop(fromEditor, line)
		}
	case method == methodCancelReq && c.up[cancelled(line, e)]:
		p.agentLine(line)
	default:
		p.trace.line(fromEditor, "", line)
		p.fromClient(line, e)
	}
}

// chainInit takes the first message: initialize by another name. It is answered
// when the successor has answered.
func (p *proxy) chainInit(line []byte, e wire.Envelope, method string) {
	if !e.Request() || strings.TrimPrefix(method, "_") != methodChainInit {
		p.drop(fromEditor, line)
		if e.Request() {
			p.answerError(e.ID.Of(line), -32600, "no agent command: run `sidetask acp -- AGENT ARGS…`, or as a component of a chain, which begins with proxy/initialize")
		}
		return
	}
	p.chain.began = true
	p.chain.prefix = strings.TrimSuffix(method, methodChainInit)
	line = wire.Splice(line, wire.Edit{At: e.Method, With: []byte(`"initialize"`)})
	if e, ok := wire.Scan(line); ok {
		p.trace.line(fromEditor, markChanged, line)
		p.fromClient(line, e)
	}
}

// wrap makes a line for the successor of one for the agent, nil of what is no
// message.
func (c *chain) wrap(line []byte) []byte {
	e, ok := wire.Scan(line)
	if !ok {
		return nil
	}
	method := e.Method.Of(line)
	switch {
	case e.Method.Absent():
		delete(c.up, wire.Key(e.ID.Of(line)))
		return line
	case wire.String(method) == methodCancelReq:
		return line // it names the outer id, which is the inner
	}
	var out bytes.Buffer
	out.WriteString(`{"jsonrpc":"2.0",`)
	if e.Request() {
		if len(c.down) < maxOpen {
			c.down[wire.Key(e.ID.Of(line))] = true
		}
		fmt.Fprintf(&out, `"id":%s,`, e.ID.Of(line))
	}
	fmt.Fprintf(&out, `"method":"%s%s","params":{"method":%s`, c.prefix, methodSuccessor, method)
	if !e.Params.Absent() {
		fmt.Fprintf(&out, `,"params":%s`, e.Params.Of(line))
	}
	out.WriteString("}}\n")
	return out.Bytes()
}

// unwrap makes the agent's message of a proxy/successor. The envelope's _meta is
// for this hop only.
func unwrap(line []byte, e wire.Envelope) []byte {
	method, ok := wire.Get(line, e.Params, "method")
	if !ok || line[method.From] != '"' {
		return nil
	}
	var out bytes.Buffer
	out.WriteString(`{"jsonrpc":"2.0",`)
	if e.Request() {
		fmt.Fprintf(&out, `"id":%s,`, e.ID.Of(line))
	}
	fmt.Fprintf(&out, `"method":%s`, method.Of(line))
	if params, ok := wire.Get(line, e.Params, "params"); ok {
		fmt.Fprintf(&out, `,"params":%s`, params.Of(line))
	}
	out.WriteString("}\n")
	return out.Bytes()
}
