package acp

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sidetask/acp/internal/turn"
	"sidetask/rpc"
)

// registration is what makes a session's owner known on a new connection.
type registration struct {
	s        *session
	register rpc.OwnerRegister
	got      rpc.OwnerRegistered
	err      error
}

// connected registers the owners on a new connection. It runs on the
// connection's goroutine, before any other call.
func (p *proxy) connected(ctx context.Context, c Caller, peer rpc.Peer) error {
	var regs []*registration
	taken := make(chan struct{})
	if !p.post(func() {
		p.link.number++
		p.link.peer = peer
		regs = p.registrations()
		close(taken)
	}) {
		return context.Canceled
	}
	<-taken
	// Before the registrations, whose answers have the settings at hand.
	err := c.Call(ctx, rpc.MethodConfigSubscribe, rpc.Empty{}, &rpc.ConfigChanged{})
	if !answered(err) {
		return err
	}
	for _, r := range regs {
		r.err = c.Call(ctx, rpc.MethodOwnerRegister, r.register, &r.got)
		if !answered(r.err) {
			return r.err
		}
	}
	p.post(func() {
		p.link.up, p.link.why = true, ""
		for _, r := range regs {
			p.registered(r.s, r.register.Session != "", r.got, r.err)
		}
		for _, s := range p.sessions.all() {
			p.sync(s)
		}
	})
	return nil
}

func (p *proxy) registrations() (regs []*registration) {
	for _, s := range p.sessions.all() {
		if !s.lost && s.token != "" {
			s.waiting = true
			regs = append(regs, &registration{s: s, register: p.registerOf(s)})
		}
	}
	return regs
}

// registerOf is how a session's owner is registered: by its session once it was
// bound, for then it is resumed.
func (p *proxy) registerOf(s *session) rpc.OwnerRegister {
	r := rpc.OwnerRegister{Token: s.token, Agent: p.who.agent, Scope: p.o.Scope, Cwd: folder(s.cwd), Env: environment(p.o.Env)}
	if s.everBound {
		r.Session = s.id
		r.Leases = append(s.machine.Leases(), slices.Collect(maps.Keys(s.unsettled))...)
	}
	return r
}

// folder makes a session's folder absolute, as the daemon wants it: a relative one,
// which ACP does not allow, is below where the agent runs, and that is here.
func folder(cwd string) string {
	if cwd == "" {
		return ""
	}
	abs, err := filepath.Abs(cwd)
	if err != nil { // our own is gone
		return ""
	}
	return abs
}

// environment makes the tasks' environment of KEY=value. Ours is not theirs, and
// what is no variable would be refused.
func environment(env []string) map[string]string {
	out := make(map[string]string, len(env))
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" && !strings.HasPrefix(k, "SIDETASK_") {
			out[k] = v
		}
	}
	return out
}

// lost notes that the connection has ended. The chat goes on without.
func (p *proxy) lost() {
	p.post(func() {
		p.link.up = false
		for _, s := range p.sessions.all() {
			s.registered, s.bound, s.waiting, s.owner = false, false, false, ""
		}
	})
}

// sync does the next thing that a session's owner needs.
func (p *proxy) sync(s *session) {
	if !p.link.up || s.lost || s.token == "" || s.waiting {
		return
	}
	number := p.link.number
	switch {
	case !s.registered:
		s.waiting = true
		reg := p.registerOf(s)
		var got rpc.OwnerRegistered
		p.call(s, &call{method: rpc.MethodOwnerRegister, params: reg, result: &got, then: func(err error) {
			if number == p.link.number {
				p.registered(s, reg.Session != "", got, err)
			}
		}})
	case !s.bound && s.named && (s.into == nil || s.into.bound || s.into.lost):
		s.waiting = true
		params := rpc.OwnerBind{Token: s.token, Session: s.id, Agent: p.who.agent, Fresh: s.fresh, Takeover: !s.fresh}
		var got rpc.OwnerBound
		p.call(s.self(), &call{method: rpc.MethodOwnerBind, params: params, result: &got, then: func(err error) {
			if number == p.link.number {
				p.bindDone(s, got, err)
			}
		}})
	}
}

// registered takes the daemon's answer to owner/register.
func (p *proxy) registered(s *session, resumed bool, got rpc.OwnerRegistered, err error) {
	s.waiting = false
	switch {
	case s.lost: // closed or taken over meanwhile
		return
	case err != nil:
		p.refusedOwner(s, err)
		return
	}
	s.registered, s.owner = true, got.Owner
	p.configure(got.ACP)
	if resumed || s.nameless {
		p.nowBound(s, got.Pending)
		return
	}
	p.sync(s)
}

// bindDone takes the daemon's answer to owner/bind.
func (p *proxy) bindDone(s *session, got rpc.OwnerBound, err error) {
	s.waiting = false
	switch {
	case s.lost: // closed or taken over meanwhile
		return
	case err == nil:
	case answered(err) && s.into == nil:
		p.unnamed(s, err)
		return
	default:
		p.refusedOwner(s, err)
		return
	}
	s.owner = got.Owner
	if s.into != nil {
		p.letGo(s)
		p.renew(s.into, s)
	}
	p.nowBound(s.self(), got.Pending)
}

// syncNext binds the tokens that later loads of a session have brought.
func (p *proxy) syncNext(s *session) {
	for _, next := range p.sessions.next(s) {
		p.sync(next)
	}
}

func (p *proxy) nowBound(s *session, pending int) {
	s.bound, s.everBound = true, !s.nameless
	p.letGo(s)
	p.sayOnce(s)
	p.note(s)
	p.userSpoke(s)
	for _, done := range s.unsettled {
		p.settleNow(s, done)
	}
	p.syncNext(s)
	if rang := p.link.takeBell(s.owner); rang || pending > 0 {
		p.step(s, turn.Bell{})
	}
}

// unnamed: the daemon will not give the owner its name, which may be that of a
// session that another proxy has. Without one it works all the same: the agent has
// the tools, so what its tasks bring must be told. It asks for the name no more:
// after a restart of the daemon it could come before the one that has it.
func (p *proxy) unnamed(s *session, err error) {
	p.logf("the background tasks of session %s cannot be resumed by its name: %v", s.id, err)
	s.nameless = true
	p.nowBound(s, 1)
}

// refusedOwner: the daemon will not have this owner. The session works on
// without us; a lost connection is not that.
func (p *proxy) refusedOwner(s *session, err error) {
	p.letGo(s)
	if !answered(err) {
		return
	}
	name := "a session"
	if s.id != "" {
		name = "session " + s.id
	}
	p.logf("no background tasks for %s: %v", name, err)
	s.lost = true
	if s.into != nil { // which works on with the token that it has
		p.sessions.opened(s)
		return
	}
	p.step(s, turn.Gone{})
	p.syncNext(s)
}
