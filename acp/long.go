package acp

import (
	"bytes"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// streamed is a line of the agent that is too long to be kept and is passed on
// in pieces.
type streamed struct {
	within  bool // more pieces are to come
	noise   bool // it is no message: it goes to stderr
	outline wire.Outline
}

// agentPiece passes on a piece of a line that is too long to be looked at.
func (p *proxy) agentPiece(l wire.Line) {
	s := &p.fromAgent.long
	if !s.within {
		*s = streamed{noise: !wire.Opens(l.Bytes)}
	}
	s.within = l.More
	if s.noise {
		p.noise(l.Bytes)
		return
	}
	s.outline.Add(l.Bytes)
	whole := bytes.HasSuffix(l.Bytes, []byte{'\n'})
	p.editor.piece(l)
	if whole && !l.More {
		p.wentBy(s.outline.Answer())
	}
}

// countsWhole reports whether more of an update counts than the beginnings of its
// strings, which is all that a digest has: our frame may stand anywhere in a
// user's words, and a call of ours is known by all of its arguments.
func (p *proxy) countsWhole(s *session, line []byte, kind string, u wire.Span) bool {
	switch kind {
	case "user_message_chunk", "user_message":
		return true
	case "tool_call", "tool_call_update":
		return s.isOurs(line, u)
	}
	return false
}

// wentBy takes a short form of an answer that has been passed on: what it answers
// is not open any more.
func (p *proxy) wentBy(outline []byte) {
	e, ok := wire.Scan(outline)
	if !ok {
		return
	}
	p.trace.line(fromAgent, "", outline)
	p.past[&outline[0]] = true
	p.agentAnswer(outline, e)
}

// isPast reports whether a line is the short form of one that the editor has.
func (p *proxy) isPast(line []byte) bool {
	return len(p.past) > 0 && len(line) > 0 && p.past[&line[0]]
}

// pastResult is how a turn has ended for us whose answer the editor has: nothing
// can be put before that.
func (p *proxy) pastResult(line []byte, r turn.Result) turn.Result {
	if r == turn.EndTurn && p.version < 2 && p.isPast(line) {
		return turn.Stopped
	}
	return r
}
