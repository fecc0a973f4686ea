package turn

// prompt takes a prompt of the editor (ACP.md §4, "Editor's prompt").
func (m *Machine) prompt(p Prompt) {
	it := item{ref: p.Ref, prompt: true, slash: p.Slash}
	switch {
	case m.ending():
		// A prompt waits, so no drain opens: what the claim gives goes into it.
		m.queue = append(m.queue, it)
		m.rest()
		m.hurry()
	case m.state == user && len(m.queue) == 0:
		m.forward(it, nil)
	case m.state == idle && m.claim == nil && len(m.queue) == 0:
		m.queue = append(m.queue, it)
		m.admit()
	default:
		m.queue = append(m.queue, it)
		if m.state == idle && m.claim != nil {
			m.hurry()
		}
	}
}

// Occupied reports whether a prompt of the editor would wait here now: ours is at
// the agent, or others wait.
func (m *Machine) Occupied() bool {
	return m.own != nil || m.accepting() || m.state != idle && !m.ending() && len(m.queue) > 0
}

// accepting reports whether the turn of a prompt of ours goes on that the agent
// has accepted (version 2).
func (m *Machine) accepting() bool {
	return m.own == nil && m.v2.accepted && (m.state == wake || m.state == drain)
}

// passing takes a prompt of the editor that does not wait. What waits for a claim
// goes before it; what the claim still brings is given back, and rings again.
func (m *Machine) passing(ref Ref) {
	told := false
	if m.claim != nil {
		told = m.claim.reason == ForUser
		m.late[m.claim.id] = false
		m.claim = nil
		m.do(SetTimer{Timer: Patience})
		if m.state != idle {
			m.rest()
		}
	}
	if m.state == idle {
		m.release(told)
	}
	if m.accepting() { // the turn that goes on is the user's, too, from here on
		m.state = user
		m.do(SetTimer{Timer: Unanswered})
	}
	m.open[ref] = &delivery{quiet: m.quiet}
}

// other takes any other message of the session: it keeps its place behind a
// prompt that waits.
func (m *Machine) other(ref Ref) {
	if len(m.queue) > 0 {
		m.queue = append(m.queue, item{ref: ref})
		return
	}
	m.do(Forward{Ref: ref})
}

// ending reports whether a turn is over but for the claim that may prolong it.
func (m *Machine) ending() bool {
	return m.claim != nil && m.claim.reason == ForTurnEnd
}

// hurry bounds how long the first prompt waits for the claim that is out.
func (m *Machine) hurry() { m.do(SetTimer{Patience, claimPatience}) }

// admit lets the first of the queue go, after a claim if it is a prompt.
func (m *Machine) admit() {
	first := m.queue[0] // a prompt: what stood in front of one has gone
	if m.retry != nil && !first.slash {
		m.carry.add(m.retry.delivery)
		m.retry, m.due = nil, false
		m.do(SetTimer{Timer: Backoff})
	}
	m.hurry()
	if !m.ask(ForUser, !first.slash) {
		m.release(true)
	}
}

// release sends the first prompt of the queue with what it carries, and what
// waited behind it as it would have gone without us. told: the daemon knows that
// the user spoke, which restores the budget; else it is told now.
func (m *Machine) release(told bool) {
	m.do(SetTimer{Timer: Patience})
	queue, carry := m.queue, m.carry
	m.queue, m.carry, m.drains = nil, delivery{}, 0
	m.state, m.busy = user, false
	first := true
	for _, it := range queue {
		switch {
		case !it.prompt:
			m.do(Forward{Ref: it.ref})
		case first:
			first = false
			m.forward(it, &carry)
		default:
			m.forward(it, nil)
		}
	}
	if !told && !m.gone {
		m.lastClaim++
		m.late[m.lastClaim] = false // nobody waits for the answer, and it takes nothing
		m.do(Claim{ID: m.lastClaim, Reason: ForUser})
	}
}

// forward sends a prompt of the editor to the agent.
func (m *Machine) forward(it item, d *delivery) {
	if d == nil {
		d = &delivery{}
	}
	d.quiet = m.quiet
	m.open[it.ref] = d
	m.do(Forward{Ref: it.ref, Notices: d.notices})
}

// answered takes the agent's answer to a prompt of the editor.
func (m *Machine) answered(a Answered) {
	d, ok := m.open[a.Ref]
	if !ok {
		// It answered twice, or never had the prompt: not ours to judge.
		m.do(Relay{Ref: a.Ref})
		return
	}
	delete(m.open, a.Ref)
	m.conclude(d, a.Result)
	if m.set.V2 {
		m.do(Relay{Ref: a.Ref})
		m.accepted(a.Result)
		return
	}
	switch {
	case len(m.open) > 0 || m.state != user:
		m.do(Relay{Ref: a.Ref})
		m.converge()
	case a.Result != EndTurn:
		m.do(Relay{Ref: a.Ref})
		m.flag = false
		m.rest()
		m.next()
	default:
		m.held = a.Ref
		m.endTurn()
	}
}

// endTurn asks whether the turn is to go on with notices. Nothing is at the agent.
func (m *Machine) endTurn() {
	if len(m.queue) == 0 && m.drains < m.set.MaxDrains && len(m.stale) == 0 && m.ask(ForTurnEnd, true) {
		m.hurry()
		return
	}
	m.rest()
	m.next()
}

// rest ends the turn: the held answer goes out.
func (m *Machine) rest() {
	m.relayHeld(false)
	m.setIdle()
}

func (m *Machine) relayHeld(cancelled bool) {
	if m.held != 0 {
		m.do(Relay{Ref: m.held, Cancelled: cancelled})
		m.held = 0
	}
	m.do(SetTimer{Timer: Grace})
}
