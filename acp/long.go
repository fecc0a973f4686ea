package acp

import (
	"bytes"
	"fmt"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// streamed is a line that is too long to be kept and is passed on in pieces.
type streamed struct {
	within bool // more pieces are to come
	noise  bool // it is no message
	lost   bool // it goes nowhere
	known  bool // its request is in the books
	size   int
	skim   wire.Skim
}

// add takes the next piece.
func (s *streamed) add(l wire.Line) {
	s.within = l.More
	s.size += len(l.Bytes)
	s.skim.Add(l.Bytes)
}

// agentPiece passes on a piece of a line of the agent that is too long to be
// looked at. What is no message goes to stderr, an answer to us goes nowhere.
func (p *proxy) agentPiece(l wire.Line) {
	s := &p.fromAgent.long
	if !s.within {
		*s = streamed{noise: !wire.Opens(l.Bytes)}
		s.lost = !s.noise && p.answersUs(p.fromAgent.beginning(l))
	}
	s.add(l)
	if s.noise {
		p.noise(l.Bytes)
		return
	}
	whole := bytes.HasSuffix(l.Bytes, []byte{'\n'})
	if !s.lost {
		p.editor.piece(l)
	}
	if whole && !l.More {
		p.wentBy(s)
	}
}

// beginning is all that is at hand of a line that is too long to be kept.
func (in *inlet) beginning(first wire.Line) *wire.Skim {
	var begins wire.Skim
	begins.Add(first.Bytes)
	for i := 0; first.More && i < len(in.rest); i++ {
		l := in.rest[i]
		begins.Add(l.Bytes)
		if !l.More {
			break
		}
	}
	return &begins
}

// answersUs reports whether a line that begins so answers a prompt of ours: the
// editor, which has not asked, must get nothing of it. An answer whose id is
// still to come is ours if nobody else waits for one.
func (p *proxy) answersUs(begins *wire.Skim) bool {
	line := begins.Known()
	e, _ := wire.Scan(line)
	switch within := begins.Within(); {
	case !e.Method.Absent():
		return false
	case !e.ID.Absent():
		return p.ours.asked(wire.Key(e.ID.Of(line)))
	case within != "result" && within != "error" && e.Result.Absent() && e.Error.Absent():
		return false
	}
	return len(p.ours.open) > 0 && !p.editorWaits()
}

// editorWaits reports whether a request of the editor is at the agent, unanswered.
func (p *proxy) editorWaits() bool {
	for _, r := range p.requests {
		if k := p.kept.of(max(r.ref, r.held)); k == nil || !k.waits() {
			return true
		}
	}
	return false
}

// wentBy takes the short form of a line of the agent that has been passed on: what
// it answers is not open any more.
func (p *proxy) wentBy(s *streamed) {
	short := s.skim.Short()
	p.trace.streamed(fromAgent, "", short, s.size)
	e, ok := wire.Scan(short)
	if !ok || !e.Method.Absent() || e.Result.Absent() && e.Error.Absent() {
		return
	}
	p.past[&short[0]] = true
	p.agentAnswer(short, e)
}

// editorPiece passes on a piece of a line of the editor that is too long to be
// kept. It cannot wait here, but a prompt of it must be known before it is at the
// agent: nothing of ours may go beside it.
func (p *proxy) editorPiece(l wire.Line) {
	s := &p.fromEditor.long
	if !s.within {
		*s = streamed{lost: p.chain != nil}
		p.foresee(s, l)
	}
	s.add(l)
	if !s.lost {
		p.agent.piece(l)
		if p.agent.torn {
			p.logf("the editor went away in the middle of a message over %d MiB", wire.MaxLine>>20)
		}
	}
	if !l.More {
		p.editorStreamed(s)
	}
}

// foresee looks at the beginning of a line of the editor, all of which that is at
// hand, before any of it goes on.
func (p *proxy) foresee(s *streamed, first wire.Line) {
	if s.lost {
		return
	}
	line := p.fromEditor.beginning(first).Known()
	if e, ok := wire.Scan(line); ok && e.Request() && wire.Text(line, e.Params, "sessionId") != "" {
		p.streamedRequest(s, line, e)
	}
}

// editorStreamed comes after the last piece of a line of the editor.
func (p *proxy) editorStreamed(s *streamed) {
	line := s.skim.Short()
	e, ok := wire.Scan(line)
	switch {
	case p.chain != nil:
		p.logf("a message of the conductor over %d MiB was dropped: it could not be told whom it is for", wire.MaxLine>>20)
		if ok && !e.ID.Absent() {
			p.tooLongInChain(e.ID.Of(line), e.Request())
		}
	case ok && e.Request() && !s.known:
		p.streamedRequest(s, line, e)
	}
	mark := ""
	if s.lost {
		mark = markDropped
	}
	p.trace.streamed(fromEditor, mark, line, s.size)
}

// tooLongInChain answers a request that was dropped. An answer that was dropped
// goes on as an error: nobody waits for ever.
func (p *proxy) tooLongInChain(id []byte, request bool) {
	answer := errorAnswer(id, -32603, fmt.Sprintf("sidetask: a message over %d MiB cannot be passed on in a chain", wire.MaxLine>>20))
	if request {
		p.toEditor(markAdded, answer)
		return
	}
	if e, ok := wire.Scan(answer); ok {
		p.chainLine(answer, e)
	}
}

// streamedRequest puts a request of the editor into the books that does not wait
// here. line is what is known of it.
func (p *proxy) streamedRequest(s *streamed, line []byte, e wire.Envelope) {
	s.known = true
	p.heard++
	id, key, method := e.ID.Of(line), wire.Key(e.ID.Of(line)), wire.String(e.Method.Of(line))
	switch {
	case p.end.agentOver:
		p.answerDead(id)
		p.letEditorGo()
		return
	case p.requests[key] != nil || len(p.requests) >= maxOpen:
		return
	}
	r := &request{number: p.heard, id: id, method: method}
	session := p.sessionOf(line, e)
	switch {
	case method == methodPrompt && session != nil && s.size == 0 && session.machine.Occupied():
		s.lost = true
		p.answerError(id, -32603, fmt.Sprintf("sidetask: a prompt over %d MiB cannot wait for the end of a turn that a background task began; cancel it, or send this again later", wire.MaxLine>>20))
		return
	case method == methodPrompt && session != nil:
		r.session, r.ref = session, p.kept.put(&keptLine{session: session, id: key})
	case method == methodNew, method == methodLoad, method == methodResume, method == methodFork:
		p.logf("%s over %d MiB: no background tasks for this session", method, wire.MaxLine>>20)
	}
	p.requests[key] = r
	if r.ref != 0 {
		p.step(session, turn.Passing{Ref: r.ref})
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

// isPast reports whether a line is the short form of one that the editor has.
func (p *proxy) isPast(line []byte) bool {
	return len(p.past) > 0 && len(line) > 0 && p.past[&line[0]]
}
