package turn

// agentGone: nothing that is at the agent will be answered any more. An answer
// that it gave before goes out, and what was on its way to it goes back.
func (m *Machine) agentGone() {
	m.relayHeld(m.state == cancelling)
	m.leave()
}

// leave ends what the machine does of its own: leases go back, nothing is
// claimed or sent any more. The editor's messages go on as they would without us.
func (m *Machine) leave() {
	m.gone, m.flag = true, false
	m.park()
	for _, d := range m.open {
		m.giveBack(d, true)
	}
	if m.own != nil {
		m.giveBack(&m.own.delivery, true)
		m.own.delivery = delivery{} // another's from now on: not to be sent again
	}
	m.impatient()
	m.next()
}
