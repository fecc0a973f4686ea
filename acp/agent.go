package acp

import (
	"bytes"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// agentLine takes one line of the agent. What is no message goes to stderr.
func (p *proxy) agentLine(line []byte) {
	line = ended(line)
	e, ok := wire.Scan(line)
	if !ok {
		if len(bytes.TrimSpace(line)) > 0 {
			p.trace.line(fromAgent, markDropped, line)
			p.noise(line)
		}
		return
	}
	p.trace.line(fromAgent, "", line)
	p.fromServer(line, e)
}

// fromServer takes one message of the agent's side.
func (p *proxy) fromServer(line []byte, e wire.Envelope) {
	method := string(wire.Plain(e.Method.Of(line)))
	if method == methodUpdate {
		p.update(line, e)
		return
	}
	line = bytes.Clone(line) // something of it may be kept
	switch {
	case e.Method.Absent():
		p.agentAnswer(line, e)
	case e.ID.Absent() && method == methodTurnEnded:
		p.toEditor("", line)
		if s := p.sessionOf(line, e); s != nil {
			p.step(s, turn.AgentIdle{})
		}
	case !e.ID.Absent() && method == methodPermission:
		p.permissionRequest(line, e)
	case e.ID.Absent() && method == methodCancelReq:
		p.withdrawn(line, e)
		p.toEditor("", line)
	default:
		p.toEditor("", line)
	}
}

// agentAnswer takes the agent's answer to a request of the editor, or of ours.
func (p *proxy) agentAnswer(line []byte, e wire.Envelope) {
	if e.ID.Absent() {
		p.toEditor("", line)
		return
	}
	key := wire.Key(e.ID.Of(line))
	if p.ours.asked(key) {
		p.drop(fromAgent, line)
		if own, ok := p.ours.answered(key); ok {
			r := p.resultOf(line, e)
			p.answeredTurn(own.session, r)
			p.step(own.session, turn.OwnAnswered{N: own.n, Result: r})
		}
		return
	}
	r := p.requests[key]
	if r == nil {
		p.toEditor("", line)
		return
	}
	switch {
	case r.method == methodInitialize:
		delete(p.requests, key)
		p.who.agentSays(line, e)
		p.toEditor("", line)
	case r.session == nil && !r.ends():
		delete(p.requests, key)
		p.toEditor("", line)
	case r.ref != 0:
		p.promptAnswer(r, line, e)
	default:
		delete(p.requests, key)
		p.sessionAnswer(r, line, e)
	}
}

// resultOf says how a prompt ended.
func (p *proxy) resultOf(line []byte, e wire.Envelope) turn.Result {
	if !e.Error.Absent() {
		return turn.Failed
	}
	if p.who.version >= 2 {
		return turn.EndTurn
	}
	return stopResult(wire.Text(line, e.Result, "stopReason"))
}

func stopResult(reason string) turn.Result {
	switch reason {
	case "end_turn":
		return turn.EndTurn
	case "cancelled":
		return turn.Cancelled
	}
	return turn.Stopped
}

// update takes a session/update: it may be a card of ours, a sign of life, or
// the agent's state.
func (p *proxy) update(line []byte, e wire.Envelope) {
	s := p.sessionOf(line, e)
	if s == nil || e.Update.Absent() {
		p.toEditor("", line)
		return
	}
	u, kind, out := e.Update, string(wire.Plain(e.Kind.Of(line))), line
	if p.gaps.In(line) && p.countsWhole(s, line, kind, u) {
		line = p.gaps.Whole(line)
		e, _ = wire.Scan(line) // as before, but longer
		u, out = e.Update, line
	}
	switch kind {
	case "tool_call", "tool_call_update":
		out = p.card(s, line, u, false)
	case "user_message_chunk", "user_message":
		if out = p.replayed(line, u); out == nil {
			p.drop(toEditor, line)
			return
		}
	}
	p.toEditor(changed(line, out), out)
	switch kind {
	case "tool_call", "agent_message_chunk", "agent_thought_chunk":
		p.active(s, turn.Activity{Speech: s.loading == 0}) // of a replay it is no answer
	case "tool_call_update", "plan":
		p.active(s, turn.Activity{})
	case "state_update":
		busy, result := wire.Text(line, u, "state") != "idle", idleResult(wire.Text(line, u, "stopReason"))
		if !busy && p.who.version >= 2 {
			p.turnOver(s, result)
		}
		p.step(s, turn.State{Busy: busy, Result: result})
	case "session_info_update":
		if wire.Text(line, u, "_meta", "codex", "threadStatus", "type") == "idle" {
			p.step(s, turn.AgentIdle{})
		}
	}
}

// idleResult is how a turn of version 2 ended; an idle without a reason is a
// plain end.
func idleResult(reason string) turn.Result {
	if reason == "" {
		return turn.EndTurn
	}
	return stopResult(reason)
}

// changed is the mark of a line that went on as out.
func changed(line, out []byte) string {
	if len(line) > 0 && len(out) > 0 && &line[0] == &out[0] {
		return ""
	}
	return markChanged
}
