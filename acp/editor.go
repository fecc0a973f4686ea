package acp

import (
	"bytes"
	"strings"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// Methods of ACP that the proxy looks at.
const (
	methodInitialize = "initialize"
	methodNew        = "session/new"
	methodLoad       = "session/load"
	methodResume     = "session/resume"
	methodFork       = "session/fork"
	methodClose      = "session/close"
	methodDelete     = "session/delete"
	methodPrompt     = "session/prompt"
	methodCancel     = "session/cancel"
	methodUpdate     = "session/update"
	methodPermission = "session/request_permission"
	methodCancelReq  = "$/cancel_request"
	methodTurnEnded  = "_session/turn_ended"
)

// editorLine takes one line of the editor. What it leaves behind when it goes away
// in the middle of one is no message, and must not become a line by us.
func (p *proxy) editorLine(line []byte) {
	whole := len(line)
	line = ended(line)
	e, ok := wire.Scan(line)
	switch {
	case !ok && whole < len(line) && len(bytes.TrimSpace(line)) > 0:
		p.logf("the editor went away in the middle of a message: its %d bytes were dropped", p.gaps.Size(line)-1)
		p.drop(fromEditor, line)
	case !ok:
		if len(bytes.TrimSpace(line)) > 0 {
			p.trace.line(fromEditor, "", line)
			p.toAgent("", line)
		}
	case p.chain != nil:
		p.chainLine(line, e)
	default:
		p.trace.line(fromEditor, "", line)
		p.fromClient(line, e)
	}
}

// ended gives a line its newline: the last one of a stream may lack it.
func ended(line []byte) []byte {
	if len(line) > 0 && line[len(line)-1] == '\n' {
		return line
	}
	return append(bytes.Clone(line), '\n')
}

// fromClient takes one message of the client's side.
func (p *proxy) fromClient(line []byte, e wire.Envelope) {
	if e.Method.Absent() {
		p.clientAnswer(line, e)
		return
	}
	method := wire.String(e.Method.Of(line))
	if p.misplaced(line, e, method) {
		return
	}
	if e.Request() {
		p.heard++
	}
	if p.end.agentOver {
		if e.Request() {
			p.answerDead(e.ID.Of(line))
			p.letEditorGo()
		}
		return
	}
	if e.Request() {
		p.clientRequest(line, e, method)
		return
	}
	switch method {
	case methodCancel:
		p.toAgent("", line)
		if s := p.sessionOf(line, e); s != nil {
			p.step(s, turn.Cancel{})
		}
	case methodCancelReq:
		p.cancelRequest(line, e)
	default:
		p.inTurn(nil, line, e, "")
	}
}

// clientRequest remembers a request, so that it is answered even if the agent ends.
func (p *proxy) clientRequest(line []byte, e wire.Envelope, method string) {
	key := wire.Key(e.ID.Of(line))
	r := &request{number: p.heard, id: e.ID.Of(line), method: method}
	if p.requests[key] != nil || len(p.requests) >= maxOpen {
		p.toAgent("", line) // an id that is in use: the agent's answer could be to either
		return
	}
	p.requests[key] = r
	switch method {
	case methodInitialize:
		p.who.clientSays(line, e)
		p.toAgent("", line)
	case methodNew, methodLoad, methodResume, methodFork:
		p.openSession(r, line, e)
	case methodClose, methodDelete:
		r.session = p.sessionOf(line, e)
		r.asked = wire.Text(line, e.Params, "sessionId")
		p.inTurn(r, line, e, "")
	case methodPrompt:
		s := p.sessionOf(line, e)
		if s == nil {
			p.toAgent("", line)
			return
		}
		r.session = s
		r.ref = p.kept.put(&keptLine{line: line, env: e, session: s, id: key})
		p.step(s, turn.Prompt{Ref: r.ref, Slash: slash(line, e)})
		p.limitKept(r.ref)
		p.traceHeld(fromEditor, r.ref, line)
	case methodCancel:
		p.toAgent("", line)
		if s := p.sessionOf(line, e); s != nil {
			p.step(s, turn.Cancel{})
		}
	default:
		p.inTurn(r, line, e, "")
	}
}

// sessionOf finds the session that params.sessionId names.
func (p *proxy) sessionOf(line []byte, e wire.Envelope) *session {
	return p.sessions.of(string(wire.Plain(e.Session.Of(line))))
}

// slash reports whether a prompt begins with a slash command of the agent.
func slash(line []byte, e wire.Envelope) bool {
	blocks, ok := wire.Get(line, e.Params, "prompt")
	if !ok {
		return false
	}
	first, ok := wire.First(line, blocks)
	if !ok {
		return false
	}
	return wire.Text(line, first, "type") == "text" && strings.HasPrefix(wire.Text(line, first, "text"), "/")
}

// cancelRequest takes $/cancel_request: of a request that waits here it is ours.
func (p *proxy) cancelRequest(line []byte, e wire.Envelope) {
	if r := p.requests[cancelled(line, e)]; r != nil {
		ref := max(r.ref, r.held)
		if k := p.kept.of(ref); k != nil && k.session.machine.Holds(ref) {
			p.drop(fromEditor, line)
			p.step(k.session, turn.CancelRequest{Ref: ref})
			return
		}
	}
	p.toAgent("", line)
}

// cancelled is the key of the request that a $/cancel_request names, "" where it
// names none.
func cancelled(line []byte, e wire.Envelope) string {
	id, ok := wire.Get(line, e.Params, "requestId")
	if !ok {
		return ""
	}
	return wire.Key(id.Of(line))
}

// clientAnswer takes the editor's answer to a request of the agent.
func (p *proxy) clientAnswer(line []byte, e wire.Envelope) {
	if !e.ID.Absent() {
		if a := p.asked.answered(wire.Key(e.ID.Of(line))); a != nil {
			if a.denied {
				p.drop(fromEditor, line)
				return
			}
			p.permissions(a.session)
		}
	}
	p.toAgent("", line)
}

// turnOver notes that a turn has ended, with what it may have left open: an
// agent that was cancelled waits for no permission any more, and codex leaves
// its cards in progress.
func (p *proxy) turnOver(s *session, r turn.Result) {
	p.asked.turnOver(s)
	p.closeCards(s, r)
}

// answeredTurn notes that a prompt was answered. In version 2 its turn goes on then.
func (p *proxy) answeredTurn(s *session, r turn.Result) {
	if p.who.version < 2 || r == turn.Failed {
		p.turnOver(s, r)
	}
}
