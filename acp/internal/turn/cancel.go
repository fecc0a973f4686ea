package turn

import "slices"

// cancel takes the editor's session/cancel, which is already on its way to the
// agent (ACP.md §4, "Cancel").
func (m *Machine) cancel() {
	for _, it := range m.drop() {
		m.do(Forward{Ref: it.ref})
	}
	m.stop()
}

// drop answers the prompts that wait here; the rest of the queue is the caller's.
func (m *Machine) drop() (others []item) {
	for _, it := range m.queue {
		if it.prompt {
			m.do(Refuse{it.ref})
		} else {
			others = append(others, it)
		}
	}
	m.queue = nil
	return others
}

// stop ends what we do, and waits for the agent to answer what is open.
func (m *Machine) stop() {
	m.flag = false
	if m.claim != nil {
		m.late[m.claim.id] = true
		m.claim = nil
		m.do(SetTimer{Timer: Patience})
	}
	m.park()
	if !m.gone {
		m.do(Abort{})
	}
	if m.own == nil && len(m.open) == 0 && !m.v2.accepted {
		m.relayHeld(true)
		if m.state != idle {
			m.setIdle()
		}
		m.next()
		return
	}
	m.state = cancelling
	if m.held != 0 {
		m.do(SetTimer{Grace, m.set.AgentGrace})
	}
	m.do(SetTimer{CancelLimit, cancelLimit})
}

// converge ends a cancelled turn when all is answered.
func (m *Machine) converge() {
	if m.state != cancelling || m.own != nil || len(m.open) > 0 || m.v2.accepted {
		return
	}
	m.do(SetTimer{Timer: CancelLimit})
	m.relayHeld(true)
	m.setIdle()
	m.next()
}

// giveUp lets prompts go after a cancel that the agent never answered. While a
// prompt of ours may still be there, we send no other.
func (m *Machine) giveUp() {
	if m.state != cancelling {
		return
	}
	if m.own != nil {
		m.giveBack(&m.own.delivery, true)
		m.stale[m.own.n] = true
		m.own = nil
	}
	m.relayHeld(true)
	m.v2.accepted = false
	if len(m.open) == 0 {
		m.setIdle()
		m.next()
		return
	}
	m.state = user
	if len(m.queue) > 0 {
		m.release(false)
	}
}

// cancelRequest takes the editor's $/cancel_request of a request that waits here
// or of a prompt whose answer is held.
func (m *Machine) cancelRequest(ref Ref) {
	if ref == m.held {
		if m.own == nil {
			m.impatient() // only the claim was out
			return
		}
		m.do(Interrupt{})
		m.stop()
		return
	}
	i := slices.IndexFunc(m.queue, func(it item) bool { return it.ref == ref })
	if i < 0 {
		return
	}
	m.queue = slices.Delete(m.queue, i, i+1)
	m.do(Refuse{ref})
	if i > 0 {
		return
	}
	for len(m.queue) > 0 && !m.queue[0].prompt {
		m.do(Forward{Ref: m.queue[0].ref})
		m.queue = m.queue[1:]
	}
	if len(m.queue) == 0 {
		m.do(SetTimer{Timer: Patience})
	}
	if m.state != idle {
		return
	}
	// It was the one that claims were made for.
	if m.claim != nil && m.claim.reason == ForUser {
		m.late[m.claim.id] = false
		m.claim = nil
		m.do(SetTimer{Timer: Patience})
	}
	carry := m.carry
	m.carry = delivery{}
	m.bounce(carry)
	m.next()
}
