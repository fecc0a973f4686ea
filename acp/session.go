package acp

import (
	"time"

	"sidetask/acp/internal/turn"
)

// session is one session of the agent, from its session/new (or load, resume,
// fork) on. It belongs to the loop.
type session struct {
	number int    // in the order they came
	id     string // the agent's; empty until it is known
	named  bool   // the request was answered: id is the owner's
	token  string
	server string // the name of our MCP entry in it
	cwd    string
	fresh  bool // bound with fresh (new, fork), else with takeover

	owner      string // the daemon's handle, while registered
	registered bool
	bound      bool // and named: its inbox can be asked
	everBound  bool // on this connection or one before
	spoke      bool // the user, unheard by the daemon: its budget is to be restored
	said       bool // on stderr
	nameless   bool // the daemon will not give it its name
	lost       bool // taken over, refused or closed: quiet from now on
	waiting    bool // a register or bind is under way
	calls      []*call
	calling    bool
	unsettled  map[string]settlement // by lease: what the daemon has not confirmed
	onBind     func()                // lets the held response go
	into       *session              // lives already: this is only its next token (load, resume)

	machine *turn.Machine
	busy    bool // as the machine says
	running bool // events are being worked off
	events  []turn.Event
	sign    sign // the last event, if it was one
	timers  [turn.Timers]timer

	cards   cards
	loading int // open loads and resumes of it: old cards come again
}

// self is the session that lives: a load or resume of one that is open already
// brings a new token and owner, and nothing else.
func (s *session) self() *session {
	if s.into != nil {
		return s.into
	}
	return s
}

// timer is one timer of a session. Updates move deadline on; the running
// time.Timer is only set anew when it has fired too early.
type timer struct {
	deadline time.Time // zero: not wanted
	running  int       // the newest time.Timer, 0 if none runs
	started  int       // how many were started
}

// sign is a sign of life of the agent, and the read that brought it.
type sign struct {
	read     int
	activity turn.Activity
}

// active tells the machine that the agent is at work. The same right behind it,
// of the same read, would say nothing new.
func (p *proxy) active(s *session, a turn.Activity) {
	if now := (sign{p.reads, a}); s.sign != now {
		p.step(s, a)
		s.sign = now
	}
}

// step gives the machine an event and does what it says. Events that come while
// it is at work are taken in order.
func (p *proxy) step(s *session, e turn.Event) {
	s.sign = sign{}
	s.events = append(s.events, e)
	if s.running {
		return
	}
	s.running = true
	for len(s.events) > 0 {
		e := s.events[0]
		s.events = s.events[1:]
		for _, a := range s.machine.Step(e) {
			p.perform(s, a)
		}
	}
	s.running, s.events = false, nil
}

// setTimer starts, moves or stops a timer of a session.
func (p *proxy) setTimer(s *session, t turn.Timer, after time.Duration) {
	tm := &s.timers[t]
	if after <= 0 {
		tm.deadline = time.Time{}
		return
	}
	deadline := time.Now().Add(after)
	sooner := tm.deadline.IsZero() || deadline.Before(tm.deadline)
	tm.deadline = deadline
	if tm.running == 0 || sooner {
		p.runTimer(s, t, after)
	}
}

func (p *proxy) runTimer(s *session, t turn.Timer, after time.Duration) {
	tm := &s.timers[t]
	tm.started++
	tm.running = tm.started
	number := tm.started
	p.after(after, func() {
		if tm.running != number {
			return // a sooner one was started since
		}
		tm.running = 0
		left := time.Until(tm.deadline)
		switch {
		case tm.deadline.IsZero():
		case left > 0:
			p.runTimer(s, t, left)
		default:
			tm.deadline = time.Time{}
			p.step(s, turn.Fired{Timer: t})
		}
	})
}

// machineSettings are what the daemon's settings and the editor make of a session's machine.
func (p *proxy) machineSettings() turn.Settings {
	set := turn.Settings{
		V2:         p.who.version >= 2,
		Wakes:      p.showWake() != showOff,
		MaxDrains:  p.settings.MaxDrains,
		AgentGrace: time.Duration(p.settings.AgentGraceMs) * time.Millisecond,
		Permission: time.Duration(p.settings.WakePermissionMs) * time.Millisecond,
	}
	if p.end.editorGone { // nobody would see it
		set.Wakes, set.MaxDrains = false, 0
	}
	return set
}
