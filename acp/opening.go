package acp

import (
	"bytes"
	"strconv"
	"time"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

const (
	// bindPatience is how long the answer to a session request waits for the bind.
	bindPatience = 250 * time.Millisecond
	// settleIn is how long the editor has to set a new session up before
	// anything of ours comes for it.
	settleIn   = 100 * time.Millisecond
	serverName = "sidetask"
)

// openSession puts our MCP server into a session request and makes its owner.
func (p *proxy) openSession(r *request, line []byte, e wire.Envelope) {
	s := &session{
		fresh: r.method == methodNew || r.method == methodFork,
		cwd:   wire.Text(line, e.Params, "cwd"),
		token: randomHex(16), unsettled: map[string]settlement{},
		machine: turn.New(p.machineSettings()),
	}
	edit, name, ok := p.entry(line, e, s.token)
	if !ok {
		p.logf("%s without usable mcpServers: no background tasks for this session", r.method)
		p.inTurn(r, line, e, "")
		return
	}
	line = wire.Splice(line, edit...)
	if e, ok = wire.Scan(line); !ok { // never: the edit was of a message
		return
	}
	s.server = name
	r.session = s
	p.sessions.open(s)
	if !s.fresh {
		r.asked = wire.Text(line, e.Params, "sessionId")
	}
	p.inTurn(r, line, e, markChanged)
	if r.asked != "" {
		if s.into = p.sessions.of(r.asked); s.into == nil {
			// The old cards and chunks of a load come before its answer.
			s.id = r.asked
			p.sessions.put(s)
			p.loads(r)
		}
	}
	p.needDaemon()
	p.sync(s)
}

// entry makes the edit that adds our server to mcpServers, and the name it got.
func (p *proxy) entry(line []byte, e wire.Envelope, token string) (edits []wire.Edit, name string, ok bool) {
	if e.Params.Absent() || line[e.Params.From] != '{' {
		return nil, "", false
	}
	list, there := wire.Get(line, e.Params, "mcpServers")
	if !there || string(list.Of(line)) == "null" {
		with := append(append([]byte{'['}, p.entryBytes(serverName, token)...), ']')
		return wire.Set(line, e.Params, wire.Member{Name: "mcpServers", Value: with}), serverName, true
	}
	servers, ok := wire.Elements(line, list)
	if !ok {
		return nil, "", false
	}
	names := map[string]bool{}
	for _, at := range servers {
		names[wire.Text(line, at, "name")] = true
	}
	name = serverName
	for n := 2; names[name]; n++ {
		name = serverName + strconv.Itoa(n)
	}
	return []wire.Edit{wire.Append(line, list, p.entryBytes(name, token))}, name, true
}

// entryBytes is our MCP server as an entry of mcpServers: version 2 wants a type,
// version 1 must not have one.
func (p *proxy) entryBytes(name, token string) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	if p.who.version >= 2 {
		b.WriteString(`"type":"stdio",`)
	}
	b.WriteString(`"name":`)
	b.Write(wire.Quote(name))
	b.WriteString(`,"command":`)
	b.Write(wire.Quote(p.o.Executable))
	b.WriteString(`,"args":["mcp"],"env":[{"name":"SIDETASK_SOCKET","value":`)
	b.Write(wire.Quote(p.o.Socket))
	b.WriteString(`},{"name":"SIDETASK_TOKEN","value":`)
	b.Write(wire.Quote(token))
	b.WriteString(`}]}`)
	p.trace.secret(token)
	return b.Bytes()
}

// sessionAnswer takes the answer to session/new, load, resume, fork, close and delete.
func (p *proxy) sessionAnswer(r *request, line []byte, e wire.Envelope) {
	s := r.session
	if r.ends() {
		p.toEditor("", line)
		switch {
		case !e.Error.Absent():
		case s != nil:
			p.endSession(s)
		default:
			p.disposeOf(r)
		}
		return
	}
	p.loaded(r)
	if s.into != nil && p.sessions.of(r.asked) != s.into {
		s.into = nil // closed meanwhile
	}
	id := wire.Text(line, e.Result, "sessionId")
	if id == "" || s.into != nil {
		id = r.asked
	}
	if !e.Error.Absent() || id == "" {
		p.notOpened(s, r.asked)
		p.toEditor("", line)
		return
	}
	p.named(s, id)
	if r.method == methodLoad { // the replay may still be to come, as gemini's is
		p.step(s.self(), turn.Activity{})
	}
	p.hold(s, line)
}

// loads notes that a load or resume has gone to the agent: what comes of the
// session until its answer may be old.
func (p *proxy) loads(r *request) {
	if s := p.sessions.of(r.asked); s != nil && r.loads == nil {
		r.loads = s
		s.loading++
	}
}

// loaded notes that a load or resume has ended.
func (p *proxy) loaded(r *request) {
	if s := r.loads; s != nil {
		r.loads = nil
		s.loading--
	}
}

// notOpened ends what was made for a session request that failed. A second
// request for the same session then stands for itself.
func (p *proxy) notOpened(s *session, asked string) {
	p.asked.none(s)
	if p.sessions.remove(asked, s) {
		for _, next := range p.sessions.next(s) {
			if now := p.sessions.of(asked); now != nil {
				next.into = now
			} else {
				next.into, next.id = nil, asked
				p.sessions.put(next)
				if next.named { // its answer has gone out
					p.sessions.opened(next)
					p.after(settleIn, func() { p.step(next, turn.Ready{}) })
				}
			}
			p.sync(next)
		}
	}
	p.sessions.opened(s)
	p.dispose(s, "the session could not be opened")
}

// named gives a session its id. Another one of that id goes quiet: its owner is
// taken over, also where the agent gave the id of a session that is open here to a
// new one. One that lives already stays as it is, and gets a new owner.
func (p *proxy) named(s *session, id string) {
	s.id, s.named = id, true
	if s.into == nil {
		if old := p.sessions.of(id); old != nil && old != s {
			s.fresh = false // the daemon refuses one whose id has a live host, and that is us
			old.lost = true
			p.gone(old)
		}
		p.sessions.opened(s)
		p.sessions.put(s)
	}
	p.sync(s)
}

// renew gives a session that lives already the token and owner of a later load
// or resume, which have just been bound. Its machine, its cards and its leases
// stay: there is one agent, and what it is at is not over.
func (p *proxy) renew(s, by *session) {
	p.sessions.opened(by)
	by.lost = true
	s.token, s.owner, s.server, s.cwd = by.token, by.owner, by.server, by.cwd
	s.registered, s.waiting, s.nameless = true, false, false
	if s.lost { // it had been taken over: this takes it back
		s.lost = false
		p.step(s, turn.Back{})
	}
}

// hold keeps the answer until the owner is bound, or for 250 ms: an agent's next
// message stays behind it.
func (p *proxy) hold(s *session, line []byte) {
	if !s.bound && !s.lost {
		p.trace.line(fromAgent, markHeld, line)
	}
	p.holdAgent++
	s.onBind = func() {
		s.onBind = nil
		p.holdAgent--
		p.toEditor("", line)
		p.after(settleIn, func() { p.step(s.self(), turn.Ready{}) })
	}
	if s.bound || s.lost {
		p.letGo(s)
		return
	}
	p.after(bindPatience, func() { p.letGo(s) })
}

// letGo sends the held answer of a session's request, if there is one.
func (p *proxy) letGo(s *session) {
	if s.onBind != nil {
		s.onBind()
	}
}
