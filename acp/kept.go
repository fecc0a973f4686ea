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
	ref := p.keep(k)
	if r != nil {
		k.id, r.held = wire.Key(r.id), ref
	}
	p.step(s, turn.Other{Ref: ref})
	p.limitKept(ref)
	p.traceHeld(fromEditor, ref, line)
}

// traceHeld notes that a message has not gone on yet.
func (p *proxy) traceHeld(dir string, ref turn.Ref, line []byte) {
	if k := p.kept[ref]; k != nil && (k.line != nil || k.answer != nil) {
		p.trace.line(dir, markHeld, line)
	}
}

// keep puts a message aside until the machine lets it go.
func (p *proxy) keep(k *keptLine) turn.Ref {
	p.lastRef++
	p.kept[p.lastRef] = k
	k.size = p.gaps.Size(k.line)
	p.keptBytes += k.size
	return p.lastRef
}

// keptLimit bounds what waits here behind turns of ours; one line always may.
const keptLimit = 64 << 20

// limitKept refuses a message that has begun to wait here, if too much does already:
// to read no more would keep the editor's cancel out, too.
func (p *proxy) limitKept(ref turn.Ref) {
	if k := p.kept[ref]; k != nil && k.line != nil && p.keptBytes > keptLimit && p.keptBytes > k.size {
		k.tooMuch = true
		p.step(k.session, turn.CancelRequest{Ref: ref})
	}
}

// unkeep forgets the line; the answer may still be to come.
func (p *proxy) unkeep(k *keptLine) {
	p.keptBytes -= k.size
	p.gaps.Forget(k.line) // what was sent is gone from there already
	k.line, k.size = nil, 0
}
