package acp

import (
	"context"
	"time"

	"sidetask/acp/internal/turn"
	"sidetask/rpc"
)

const (
	// disposeTime bounds owner/dispose, which waits for tasks to end.
	disposeTime = 60 * time.Second
	// reasonClosed is why the tasks of a session end with it.
	reasonClosed = "session closed"
)

// endSession forgets a session that was closed, with its owner and tasks, and the
// tokens of later loads of it that no daemon has bound yet. One whose load is not
// answered may open it anew.
func (p *proxy) endSession(s *session) {
	p.sessions.remove(s.id, s)
	p.gone(s)
	p.dispose(s, reasonClosed)
	for _, next := range p.sessions.next(s) {
		if next.named {
			p.sessions.opened(next)
			p.letGo(next)
			p.dispose(next, reasonClosed)
		}
	}
}

// gone ends what is ours of a session that the agent has no more. Requests for
// permission of it are forgotten, for the editor may never answer them, and no
// turn of it is cancelled for their sake.
func (p *proxy) gone(s *session) {
	p.step(s, turn.Gone{})
	p.setTimer(s, turn.Unanswered, 0)
	p.asked.none(s)
}

// dispose ends a session's owner.
func (p *proxy) dispose(s *session, reason string) {
	registered := s.registered || s.waiting
	s.lost, s.bound, s.registered = true, false, false
	if !registered || p.daemon == nil {
		return
	}
	p.background.within(disposeTime, func(ctx context.Context) {
		_ = p.daemon.Call(ctx, rpc.MethodOwnerDispose, rpc.OwnerDispose{As: rpc.As{Token: s.token}, Reason: reason}, &rpc.OwnerDisposed{})
	})
}

// ends reports whether a request ends the session that it names.
func (r *request) ends() bool { return r.method == methodClose || r.method == methodDelete }

// disposeOf ends the owner of a session that was closed or deleted and never
// opened here: an earlier proxy left it. A closed one that another proxy has now
// stays that one's; a deleted one is nobody's any more.
func (p *proxy) disposeOf(r *request) {
	if r.asked == "" {
		return
	}
	p.needDaemon()
	as := rpc.As{Token: randomHex(16)}
	register := rpc.OwnerRegister{Token: as.Token, Agent: p.who.agent, Session: r.asked, Scope: p.o.Scope, Takeover: r.method == methodDelete}
	p.background.within(disposeTime, func(ctx context.Context) {
		if err := p.daemon.Call(ctx, rpc.MethodOwnerRegister, register, &rpc.OwnerRegistered{}); err == nil {
			_ = p.daemon.Call(ctx, rpc.MethodOwnerDispose, rpc.OwnerDispose{As: as, Reason: reasonClosed}, &rpc.OwnerDisposed{})
		}
	})
}
