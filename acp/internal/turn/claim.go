package turn

// ask claims the waiting notices. It is false when there is nobody to ask.
func (m *Machine) ask(reason string, take bool) bool {
	if m.gone {
		return false
	}
	if take {
		m.flag = false // a bell that rings from here on is for what this claim misses
	}
	m.lastClaim++
	m.claim = &claim{id: m.lastClaim, reason: reason}
	m.do(Claim{ID: m.lastClaim, Reason: reason, Take: take})
	return true
}

// claimed takes the daemon's answer.
func (m *Machine) claimed(c Claimed) {
	if park, ok := m.late[c.ID]; ok {
		delete(m.late, c.ID)
		m.letGo(c.Lease, park)
		return
	}
	if m.claim == nil || m.claim.id != c.ID {
		m.letGo(c.Lease, false)
		return
	}
	reason := m.claim.reason
	m.claim = nil
	got := delivery{notices: c.Notices}
	if c.Lease != "" {
		got.leases = []string{c.Lease}
	}
	switch {
	case reason == ForUser:
		m.carry.add(got)
		m.release(true)
	case len(m.queue) > 0:
		m.intoPrompt(got)
	case m.state == idle:
		if len(got.notices) > 0 && reason == ForWake {
			// Kept until the agent is at rest: giving it back would cost a wake.
			m.retry, m.due = &own{delivery: got}, true
		} else {
			m.bounce(got)
		}
		m.next()
	default:
		m.prolong(got)
	}
}

// intoPrompt gives notices to the prompt that came while they were claimed.
func (m *Machine) intoPrompt(got delivery) {
	if first := m.queue[0]; first.prompt && first.slash {
		m.bounce(got)
	} else {
		m.carry.add(got)
	}
	m.next()
}

// bounce gives claimed notices back at once: they ring again.
func (m *Machine) bounce(got delivery) {
	for _, lease := range got.leases {
		m.letGo(lease, false)
	}
}

// prolong goes on with a turn that has ended: with notices, or not at all.
func (m *Machine) prolong(got delivery) {
	m.do(SetTimer{Timer: Patience})
	if m.retry != nil { // it would be forgotten behind this one
		again := m.retry.delivery
		m.retry, m.due = nil, false
		m.do(SetTimer{Timer: Backoff})
		again.add(got)
		got = again
	}
	if len(got.notices) > 0 {
		m.drains++
		m.send(own{delivery: got}, drain)
		return
	}
	m.rest()
	m.next()
}

// impatient goes on without the claim that is out; what it still brings is
// given back.
func (m *Machine) impatient() {
	if m.claim == nil {
		return
	}
	m.late[m.claim.id] = false
	ending, told := m.ending() && m.state != idle, m.claim.reason == ForUser
	m.claim = nil
	switch {
	case len(m.queue) > 0 && m.state == idle:
		m.release(told)
	case ending:
		m.prolong(delivery{})
	}
}

// letGo releases a lease.
func (m *Machine) letGo(lease string, park bool) {
	if lease != "" {
		m.do(Release{Lease: lease, Park: park})
	}
}

// acknowledge tells the daemon that the agent has the notices.
func (m *Machine) acknowledge(d *delivery) {
	for _, lease := range d.leases {
		m.do(Ack{lease})
	}
	d.leases = nil
}

func (m *Machine) giveBack(d *delivery, park bool) {
	for _, lease := range d.leases {
		m.letGo(lease, park)
	}
	d.leases = nil
}

// park gives back the leases of what has not been sent; their notices wait for
// the next prompt, turn end or bell.
func (m *Machine) park() {
	m.giveBack(&m.carry, true)
	m.carry = delivery{}
	if m.retry != nil {
		m.giveBack(&m.retry.delivery, true)
		m.retry, m.due = nil, false
		m.do(SetTimer{Timer: Backoff})
	}
}

// conclude acknowledges or gives back the notices of a prompt that was answered.
// A cancelled prompt may be answered before the agent has taken it up: only if
// it has spoken since, it has them.
func (m *Machine) conclude(d *delivery, r Result) {
	if r == Failed || m.state == cancelling && !d.spoke && !m.set.V2 {
		m.giveBack(d, true)
		return
	}
	m.acknowledge(d)
}
