package acp

import (
	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// permissionRequest passes a request for permission on, with the card of a tool of ours.
func (p *proxy) permissionRequest(line []byte, e wire.Envelope) {
	s := p.sessionOf(line, e)
	if s == nil {
		p.toEditor("", line)
		return
	}
	if call, ok := permissionCall(line, e); ok && p.gaps.In(line) && s.isOurs(line, call) {
		line = p.gaps.Whole(line)
		e, _ = wire.Scan(line) // as before, but longer
	}
	p.asked.ask(e.ID.Of(line), s)
	out := p.permissionCard(s, line, e)
	p.toEditor(changed(line, out), out)
	p.step(s, turn.Permission{Open: true})
}

// withdrawn notes that the agent waits for the answer to a request of its no more.
func (p *proxy) withdrawn(line []byte, e wire.Envelope) {
	if a := p.asked.withdrawn(cancelled(line, e)); a != nil {
		p.permissions(a.session)
	}
}

// permissionCall finds the tool call that a request for permission is about.
// Version 2 has it as one kind of subject.
func permissionCall(line []byte, e wire.Envelope) (call wire.Span, ok bool) {
	if call, ok = wire.Get(line, e.Params, "toolCall"); ok {
		return call, true
	}
	return wire.Get(line, e.Params, "subject", "toolCall")
}

// permissionCard rewrites the card in a request for permission. Beside a subject
// version 2 has a title of its own.
func (p *proxy) permissionCard(s *session, line []byte, e wire.Envelope) []byte {
	call, ok := permissionCall(line, e)
	if !ok {
		return line
	}
	out := p.card(s, line, call, true)
	if _, v1 := wire.Get(line, e.Params, "toolCall"); v1 {
		return out
	}
	c := s.cards.byID[wire.Text(line, call, "toolCallId")]
	if c == nil || c.title == nil {
		return out
	}
	now, ok := wire.Scan(out)
	if !ok {
		return out
	}
	if title, ok := wire.Get(out, now.Params, "title"); ok {
		out = wire.Splice(out, wire.Edit{At: title, With: c.title})
	}
	return out
}

// permissions tells the machine when no request for permission is open any more.
func (p *proxy) permissions(s *session) {
	if !p.asked.open(s) {
		p.step(s, turn.Permission{Open: false})
	}
}

// denyPermissions answers the agent's open requests for permission in place of
// an editor that does not.
func (p *proxy) denyPermissions(s *session) {
	for _, a := range p.asked.deny(s) {
		p.toAgent(markAdded, []byte(`{"jsonrpc":"2.0","id":`+string(a.id)+`,"result":{"outcome":{"outcome":"cancelled"}}}`+"\n"))
	}
}
