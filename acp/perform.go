package acp

import (
	"bytes"
	"context"
	"fmt"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
	"sidetask/render"
	"sidetask/rpc"
)

// perform does what a session's machine says.
func (p *proxy) perform(s *session, a turn.Action) {
	switch a := a.(type) {
	case turn.Forward:
		p.forward(a)
	case turn.Send:
		p.sendPrompt(s, a)
	case turn.Relay:
		p.relay(a)
	case turn.Refuse:
		p.refuse(a.Ref)
	case turn.Interrupt:
		p.toAgent(markAdded, message(methodCancel, `{"sessionId":`+string(wire.Quote(s.id))+`}`))
	case turn.DenyPermissions:
		p.denyPermissions(s)
	case turn.Claim:
		p.claim(s, a)
	case turn.Ack:
		p.settle(s, settlement{rpc.MethodInboxAck, rpc.InboxAck{Lease: a.Lease}})
	case turn.Release:
		p.settle(s, settlement{rpc.MethodInboxRelease, rpc.InboxAck{Lease: a.Lease, Park: a.Park}})
	case turn.Abort:
		p.abort(s)
	case turn.SetTimer:
		p.setTimer(s, a.Timer, a.After)
	case turn.Busy:
		s.busy = a.Busy
		p.status(s, a.Busy)
		p.retire(s)
	}
}

// forward sends a kept message to the agent, a prompt with its notices in front.
func (p *proxy) forward(a turn.Forward) {
	k := p.kept.of(a.Ref)
	if k == nil {
		return
	}
	line, mark := k.line, k.mark
	if len(a.Notices) > 0 {
		if blocks, ok := wire.Get(line, k.env.Params, "prompt"); ok && line[blocks.From] == '[' {
			line, mark = wire.Splice(line, wire.Prepend(line, blocks, textBlock(render.Frame(a.Notices)))), markChanged
		}
	}
	p.toAgent(mark, line)
	p.kept.sent(k)
	r := p.requests[k.id]
	if r == nil || r.ref != a.Ref {
		p.kept.drop(k) // no answer of it is waited for
	}
	if r != nil && r.held == a.Ref {
		r.held = 0
		if !r.ends() {
			p.loads(r)
		}
	}
}

// sendPrompt gives the agent a prompt of ours.
func (p *proxy) sendPrompt(s *session, a turn.Send) {
	if a.Alone {
		p.echo(s, a.Notices)
	}
	id := p.ours.ask(ownPrompt{session: s, n: a.N})
	var line bytes.Buffer
	line.WriteString(`{"jsonrpc":"2.0","id":` + id + `,"method":"session/prompt","params":{"sessionId":`)
	line.Write(wire.Quote(s.id))
	line.WriteString(`,"prompt":[`)
	line.Write(textBlock(render.Frame(a.Notices)))
	line.WriteString("]}}\n")
	p.toAgent(markAdded, line.Bytes())
}

// relay passes the agent's answer to a prompt on.
func (p *proxy) relay(a turn.Relay) {
	k := p.kept.of(a.Ref)
	if k == nil || k.answer == nil {
		return
	}
	line, mark := k.answer, ""
	if a.Cancelled && !p.isPast(line) {
		if e, ok := wire.Scan(line); ok {
			if edits := wire.Set(line, e.Result, wire.Member{Name: "stopReason", Value: []byte(`"cancelled"`)}); edits != nil {
				line, mark = wire.Splice(line, edits...), markChanged
			}
		}
	}
	answers := p.forget(k)
	p.toEditor(mark, line)
	for _, more := range answers[1:] {
		p.toEditor("", more)
	}
}

// refuse answers a request that was cancelled before it went to the agent. Only
// a prompt of version 1 has a result that says so.
func (p *proxy) refuse(ref turn.Ref) {
	k := p.kept.of(ref)
	if k == nil {
		return
	}
	r := p.requests[k.id]
	waited := r != nil && r.held == ref
	body := `"result":{"stopReason":"cancelled"}`
	if p.who.version >= 2 || waited {
		body = `"error":{"code":-32800,"message":"Request cancelled"}`
	}
	if k.tooMuch {
		body = fmt.Sprintf(`"error":{"code":-32603,"message":"sidetask: more than %d MiB wait for the end of a turn that a background task began; cancel it, or send this again later"}`, keptLimit>>20)
	}
	if k.env.ID.Absent() { // a notification: nobody could be told that it is gone
		p.toAgent(k.mark, k.line)
		p.forget(k)
		return
	}
	id := k.env.ID.Of(k.line)
	p.toEditor(markAdded, []byte(`{"jsonrpc":"2.0","id":`+string(id)+`,`+body+"}\n"))
	p.forget(k)
	if waited {
		delete(p.requests, k.id)
		if p.sessions.opening[r.session] {
			p.notOpened(r.session, r.asked)
		}
	}
}

// forget ends a message that waited here, and gives the answers to it.
func (p *proxy) forget(k *keptLine) (answers [][]byte) {
	if r := p.requests[k.id]; r != nil && r.ref == k.ref {
		delete(p.requests, k.id)
	}
	return p.kept.drop(k)
}

// abort ends the waits of a session's owner, past whatever else is being asked.
func (p *proxy) abort(s *session) {
	if s.bound {
		p.background.within(callTime, func(ctx context.Context) {
			_ = p.daemon.Call(ctx, rpc.MethodOwnerAbort, rpc.As{Token: s.token}, &rpc.Empty{})
		})
	}
}

// status tells the daemon whether a session is busy, for display.
func (p *proxy) status(s *session, busy bool) {
	status := "idle"
	if busy {
		status = "busy"
	}
	if n := len(s.calls); n > 0 && s.calls[n-1].status {
		s.calls[n-1].params = rpc.OwnerUpdate{As: rpc.As{Token: s.token}, Status: status}
		return // what has not been said yet is not worth saying
	}
	p.ownerUpdate(s, rpc.OwnerUpdate{Status: status})
}

func (p *proxy) ownerUpdate(s *session, u rpc.OwnerUpdate) {
	if s.bound {
		u.Token = s.token
		p.call(s, &call{method: rpc.MethodOwnerUpdate, params: u, status: u.Status != "", result: &rpc.Empty{}, then: func(error) {}})
	}
}
