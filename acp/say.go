package acp

import (
	"context"
	"strings"

	"sidetask/rpc"
)

// saying is what is said on stderr of what the proxy does: one line with all of
// it for the first session, and each further session once, as it comes, so that
// an editor's log tells which owners are its.
type saying struct {
	begun bool // the first line is on its way
	over  bool // and it was written
	has   bool // it promised background tasks
	later []*session
}

// sayOnce says that a session is served, once.
func (p *proxy) sayOnce(s *session) {
	if s.said {
		return
	}
	s.said = true
	if p.saying.begun {
		p.saying.later = append(p.saying.later, s)
		p.sayLater()
		return
	}
	p.saying.begun = true
	p.background.within(callTime, func(ctx context.Context) {
		var got rpc.MountListResult
		err := p.daemon.Call(ctx, rpc.MethodMountList, rpc.Empty{}, &got)
		p.post(func() { p.say(s, err != nil || served(p.o.Scope, got.Mounts)) })
	})
}

// say is the first line; has: some mount serves the preset.
func (p *proxy) say(s *session, has bool) {
	agent := strings.TrimSpace(p.who.agent + " " + p.who.agentVersion)
	what := "background tasks"
	if !has {
		what = "no mount serves this preset, so no background tasks"
	}
	p.logf("%s for %s (ACP v%d), preset %s, session %s, daemon %s", what, agent, p.who.version, p.o.Scope, s.id, p.link.peer.Version)
	if p.who.ignores() {
		p.logf("%s ignores mcpServers, so its sessions have no task tools", p.who.agent)
	}
	p.saying.over, p.saying.has = true, has && !p.who.ignores()
	p.sayLater()
}

// sayLater names the sessions that came after the first line.
func (p *proxy) sayLater() {
	if !p.saying.over {
		return
	}
	for _, s := range p.saying.later {
		if p.saying.has {
			p.logf("background tasks for session %s, too", s.id)
		}
	}
	p.saying.later = nil
}

// served reports whether a mount serves a scope: the nearest one counts.
func served(at string, mounts []rpc.MountInfo) bool {
	nearest, enabled := "", false
	for _, m := range mounts {
		within := m.Scope == "/" || at == m.Scope || strings.HasPrefix(at, m.Scope+"/")
		if within && len(m.Scope) > len(nearest) {
			nearest, enabled = m.Scope, m.Enabled
		}
	}
	return enabled
}
