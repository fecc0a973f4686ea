package acp

import (
	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// inTurn sends a message of a session in its order: behind a prompt that waits.
// r is nil for a notification.
func (p *proxy) inTurn(r *request, line []byte, e wire.Envelope, mark string) {
	s := p.sessionOf(line, e)
	if s == nil {
		p.toAgent(mark, line)
		return
	}
	k := &keptLine{line: line, env: e, session: s, mark: mark}
	ref := p.kept.put(k)
	if r != nil {
		k.id, r.held = wire.Key(r.id), ref
	}
	p.step(s, turn.Other{Ref: ref})
	p.limitKept(ref)
	p.traceHeld(fromEditor, ref, line)
}

// traceHeld notes that a message has not gone on yet.
func (p *proxy) traceHeld(dir string, ref turn.Ref, line []byte) {
	if k := p.kept.of(ref); k != nil && k.waits() {
		p.trace.line(dir, markHeld, line)
	}
}

// limitKept refuses a message that has begun to wait here, if too much does already.
func (p *proxy) limitKept(ref turn.Ref) {
	if k := p.kept.of(ref); k != nil && p.kept.crowded(k) {
		k.tooMuch = true
		p.step(k.session, turn.CancelRequest{Ref: ref})
	}
}

// promptAnswer gives the machine the answer to a prompt of the editor, which
// says when it goes on.
func (p *proxy) promptAnswer(r *request, line []byte, e wire.Envelope) {
	k := p.kept.of(r.ref)
	switch {
	case k == nil || k.answer != nil && !p.kept.mayWait(k, line):
		p.toEditor("", line) // it answered twice: as it would be without us
		return
	case k.answer != nil:
		p.kept.hold(k, line)
		p.trace.line(fromAgent, markHeld, line)
		return
	}
	mayWait := p.kept.mayWait(k, line) && !p.isPast(line)
	p.kept.hold(k, line)
	result := p.resultOf(line, e)
	p.answeredTurn(r.session, result)
	if result != turn.EndTurn || mayWait || p.who.version >= 2 {
		p.step(r.session, turn.Answered{Ref: r.ref, Result: result})
		p.traceHeld(fromAgent, r.ref, line)
		return
	}
	// Nothing can be put before this answer: what waits comes after it.
	p.step(r.session, turn.Answered{Ref: r.ref, Result: turn.Stopped})
	p.step(r.session, turn.Bell{})
}
