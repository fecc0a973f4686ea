package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"sidetask/acp/internal/turn"
	"sidetask/rpc"
)

// callTime bounds a call to the daemon that nobody waits for.
const callTime = 10 * time.Second

// link is what is known of the daemon.
type link struct {
	up      bool   // owners are registered and calls go out
	awaited bool   // somebody waits to say that there is none
	why     string // what was said of that
	number  int    // of the connection
	peer    rpc.Peer
	rang    map[string]bool // bells of handles not known yet
	rereads int             // of the settings: only what the last one finds counts
}

// ring remembers a bell.
func (l *link) ring(owner string) {
	if l.rang == nil || len(l.rang) > maxOpen {
		l.rang = map[string]bool{}
	}
	l.rang[owner] = true
}

// takeBell forgets a bell, and says whether there was one.
func (l *link) takeBell(owner string) bool {
	rang := l.rang[owner]
	delete(l.rang, owner)
	return rang
}

// call is one call to the daemon for a session. They go out one after another.
type call struct {
	method string
	params any
	status bool // an owner/update of the status
	result any
	then   func(error) // in the loop
}

// group is goroutines that end with the proxy.
type group struct {
	ctx  context.Context // ends with the loop; the group's life is that context
	work sync.WaitGroup
}

func (g *group) start(f func(context.Context)) { g.work.Go(func() { f(g.ctx) }) }

// within is start for what may take so long.
func (g *group) within(d time.Duration, f func(context.Context)) {
	g.start(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		f(ctx)
	})
}

// answered reports whether the daemon has answered, be it with an error.
func answered(err error) bool {
	var e *rpc.Error
	return err == nil || errors.As(err, &e)
}

// needDaemon connects, and has a daemon started where there is none.
func (p *proxy) needDaemon() {
	if p.daemon == nil {
		p.daemon = p.o.Connect(Hooks{Connected: p.connected, Lost: p.lost, Handle: p.handle})
	}
	p.daemon.Start()
	if p.link.up || p.link.awaited {
		return
	}
	p.link.awaited = true
	p.background.within(callTime, func(ctx context.Context) {
		err := p.daemon.Await(ctx)
		p.post(func() {
			p.link.awaited = false
			if err == nil || explained(err) == p.link.why { // each session would say it again
				return
			}
			p.link.why = explained(err)
			p.logf("no daemon, so no background tasks yet; the agent works on without: %s", p.link.why)
		})
	})
}

// explained is an error with what to do about it.
func explained(err error) string {
	var hint interface{ Hint() string }
	if errors.As(err, &hint) && hint.Hint() != "" {
		return err.Error() + "; " + hint.Hint()
	}
	return err.Error()
}

// call queues a call for a session.
func (p *proxy) call(s *session, c *call) {
	s.calls = append(s.calls, c)
	p.nextCall(s)
}

func (p *proxy) nextCall(s *session) {
	if s.calling || len(s.calls) == 0 {
		return
	}
	c := s.calls[0]
	s.calls = s.calls[1:]
	s.calling = true
	p.background.start(func(ctx context.Context) {
		// Without a limit of time: the answer to a claim that we gave up would
		// take a lease with it. A lost connection ends it.
		err := p.daemon.Call(ctx, c.method, c.params, c.result)
		p.post(func() {
			s.calling = false
			c.then(err)
			p.nextCall(s)
		})
	})
}

// configure takes the [acp] settings in force.
func (p *proxy) configure(set rpc.ACPSettings) {
	if set.ShowWake == "" || set == p.settings {
		return
	}
	p.settings = set
	for _, s := range p.sessions.all() {
		s.machine.Configure(p.machineSettings())
	}
}

// reread takes the [acp] settings after the configuration has changed.
func (p *proxy) reread() {
	p.link.rereads++
	number := p.link.rereads
	p.background.within(callTime, func(ctx context.Context) {
		set, ok := p.readSettings(ctx)
		if !ok {
			return // those in force stay; a new connection says them again
		}
		p.post(func() {
			if number != p.link.rereads {
				return
			}
			p.configure(set)
			for _, s := range p.sessions.all() {
				p.note(s)
			}
		})
	})
}

// readSettings asks the daemon for the [acp] settings. It runs beside the loop.
func (p *proxy) readSettings(ctx context.Context) (set rpc.ACPSettings, ok bool) {
	var got rpc.ConfigGetResult
	if err := p.daemon.Call(ctx, rpc.MethodConfigGet, rpc.Empty{}, &got); err != nil {
		return set, false
	}
	table := map[string]json.RawMessage{}
	for _, s := range got.Settings {
		if key, ok := strings.CutPrefix(s.Key, "acp."); ok {
			table[key] = s.Value
		}
	}
	raw, err := json.Marshal(table)
	return set, err == nil && json.Unmarshal(raw, &set) == nil
}

// handle takes the daemon's notifications and requests.
func (p *proxy) handle(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch method {
	case rpc.NotifyInboxPending:
		var n rpc.InboxPending
		if json.Unmarshal(params, &n) == nil {
			p.post(func() { p.rung(n.Owner) })
		}
		return nil, nil
	case rpc.NotifyConfigChanged:
		p.post(p.reread)
		return nil, nil
	case rpc.NotifyOwnerLost:
		var n rpc.OwnerLost
		if json.Unmarshal(params, &n) == nil {
			p.post(func() { p.ownerLost(n.Owner) })
		}
		return nil, nil
	case rpc.MethodOwnerResolve:
		var r rpc.OwnerResolve
		if err := json.Unmarshal(params, &r); err != nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "owner/resolve: %v", err)
		}
		return p.resolveCall(ctx, r)
	}
	return nil, rpc.Errorf(rpc.CodeMethodNotFound, "unknown method %s", method)
}

// rung takes the bell. It may ring before the answer to the registration is here.
func (p *proxy) rung(owner string) {
	if s := p.sessions.byOwner(owner); s != nil && s.bound {
		p.step(s, turn.Bell{})
		return
	}
	p.link.ring(owner)
}

// ownerLost: another proxy has this session now.
func (p *proxy) ownerLost(owner string) {
	if s := p.sessions.byOwner(owner); s != nil {
		s.lost, s.bound, s.registered = true, false, false
		p.step(s, turn.Gone{})
	}
}
