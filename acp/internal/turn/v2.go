package turn

// v2state follows the turns of protocol version 2: a prompt's answer says only
// that it was accepted, the turn ends with the state idle.
type v2state struct {
	running  bool // the last state_update was not idle
	accepted bool // a prompt was accepted and its turn has not ended
}

// accepted takes the answer to a prompt of the editor.
func (m *Machine) accepted(r Result) {
	switch {
	case r != Failed:
		m.inserted()
	case m.v2.accepted && !m.v2.running && len(m.open) == 0:
		m.do(SetTimer{Accepted, quietAfter})
	case m.state == cancelling:
		m.converge()
	case m.state == user && len(m.open) == 0 && !m.v2.accepted:
		m.flag = false // a bell from here on is not this turn's, though the agent may run by itself
		m.rest()
		m.next()
	}
}

// acceptedOwn takes the answer to a prompt of ours.
func (m *Machine) acceptedOwn(r Result) {
	if m.set.V2 && r != Failed {
		m.inserted()
	}
}

// inserted: the agent has a prompt, and is in its turn or about to be.
func (m *Machine) inserted() {
	m.v2.accepted = true
	if !m.v2.running {
		m.do(SetTimer{Accepted, quietAfter})
	}
}

// notBegun ends the turn of a prompt that was accepted without ever running:
// it may have run and ended before its answer came.
func (m *Machine) notBegun() {
	if m.v2.accepted && !m.v2.running && m.own == nil && len(m.open) == 0 {
		m.turnOver(EndTurn)
	}
}

// stateUpdate takes a state_update.
func (m *Machine) stateUpdate(s State) {
	if !m.set.V2 {
		return
	}
	m.v2.running = s.Busy
	if s.Busy {
		m.do(SetTimer{Timer: Accepted})
		if m.ending() && m.state != idle {
			m.rest() // the agent goes on by itself: nothing of ours beside that
		}
		if m.state == idle {
			m.busy = true
		}
		return
	}
	m.busy = false
	m.v2.accepted = false // what is at the agent unanswered is not accepted yet
	switch {
	case m.own != nil || len(m.open) > 0 || m.state == idle || m.ending():
		m.next()
	default:
		m.turnOver(s.Result)
	}
}

// turnOver ends a turn of version 2. Nothing is held: a notice at its end is a
// prompt right after idle.
func (m *Machine) turnOver(r Result) {
	m.v2.accepted = false
	m.do(SetTimer{Timer: Accepted})
	m.do(SetTimer{Timer: Unanswered})
	switch {
	case m.state == cancelling:
		m.converge()
	case m.state == idle:
		m.next()
	case r == EndTurn:
		m.endTurn()
	default:
		m.flag = false
		m.rest()
		m.next()
	}
}

// comeLate: a prompt of ours that was given up has been answered. In version 2
// its turn is about to begin, after all.
func (m *Machine) comeLate(r Result) {
	if !m.set.V2 || r == Failed {
		return
	}
	if m.state == idle {
		m.busy = true
		m.do(SetTimer{Quiet, quietAfter})
	}
	m.inserted() // still so if a prompt of the editor comes meanwhile and is refused
}
