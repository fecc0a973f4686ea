package turn

// send gives the agent a prompt of ours. Nothing else may be at the agent.
func (m *Machine) send(o own, s state) {
	m.lastOwn++
	o.n = m.lastOwn
	o.delivery.quiet, o.delivery.spoke = m.quiet, false // of an earlier try it may be true
	m.own = &o
	if s == wake {
		m.drains = 0
	}
	m.state, m.busy = s, false
	m.v2.accepted = false
	m.do(Send{N: o.n, Notices: o.delivery.notices, Alone: m.held == 0})
}

// resend tries a refused prompt again; its lease costs nothing more.
func (m *Machine) resend() {
	o := *m.retry
	m.retry, m.due = nil, false
	m.send(o, wake)
}

// ownAnswered takes the agent's answer to a prompt of ours.
func (m *Machine) ownAnswered(a OwnAnswered) {
	if m.own == nil || m.own.n != a.N {
		delete(m.stale, a.N)
		m.comeLate(a.Result)
		m.next()
		return
	}
	o := m.own
	m.own = nil
	if !m.set.V2 || a.Result == Failed { // else its turn goes on
		m.do(SetTimer{Timer: Unanswered})
	}
	if m.state == cancelling {
		m.conclude(&o.delivery, a.Result)
		m.relayHeld(true)
		m.acceptedOwn(a.Result)
		m.converge()
		return
	}
	if len(m.open) > 0 {
		m.beside(o, a.Result)
		return
	}
	if a.Result == Failed {
		m.refused(o)
		return
	}
	m.acknowledge(&o.delivery)
	switch {
	case m.set.V2:
		m.acceptedOwn(a.Result)
	case a.Result == EndTurn:
		m.endTurn()
	default:
		m.flag = false
		m.relayHeld(a.Result == Cancelled)
		m.rest()
		m.next()
	}
}

// beside ends a prompt of ours while one of the editor's is at the agent, too:
// it was so long that it had gone before it was known for one.
func (m *Machine) beside(o *own, r Result) {
	m.conclude(&o.delivery, r)
	m.relayHeld(r == Cancelled)
	m.acceptedOwn(r)
	m.state = user
}

// refused backs off, or gives the notices back after too many refusals. A drain's
// prompt is not tried again beside the user's waiting answer: its notices ring.
func (m *Machine) refused(o *own) {
	if m.held != 0 {
		m.rest()
		m.giveBack(&o.delivery, false)
		m.next()
		return
	}
	m.setIdle()
	o.attempts++
	if o.attempts >= maxRefusals || len(o.delivery.notices) == 0 {
		m.giveBack(&o.delivery, true)
		m.flag = false
		m.next()
		return
	}
	delay := firstBackoff << (o.attempts - 1)
	m.retry, m.due = o, false
	m.do(SetTimer{Backoff, min(delay, lastBackoff)})
	m.next()
}

// activity takes an update that shows the agent at work.
func (m *Machine) activity(speech bool) {
	m.quiet = false
	m.do(SetTimer{Quiet, quietAfter})
	atRest := (m.state == idle || m.ending()) && m.own == nil && len(m.open) == 0
	if atRest && !m.set.V2 {
		m.busy = true
	}
	if !speech {
		return
	}
	if m.own != nil {
		m.heard(&m.own.delivery)
	}
	for _, d := range m.open {
		m.heard(d)
	}
}

// heard: the agent speaks after it was sent a prompt. If it had been quiet
// before, it speaks because of it, and so has it.
func (m *Machine) heard(d *delivery) {
	d.spoke = true
	if d.quiet {
		m.acknowledge(d)
	}
}

// permission watches the requests for permission of a turn that nobody asked for.
func (m *Machine) permission(open bool) {
	switch {
	case !open:
		m.do(SetTimer{Timer: Unanswered})
	case m.Waking():
		m.do(SetTimer{Unanswered, m.set.Permission})
	}
}

// unanswered ends a wake turn whose permission request nobody answers: the
// editor may have dropped it.
func (m *Machine) unanswered() {
	if !m.Waking() {
		return
	}
	m.do(Interrupt{})
	m.do(DenyPermissions{})
	m.stop()
}
