package turn

// agentGone: nothing that is at the agent will be answered any more. An answer
// that it gave before goes out, and what was on its way to it goes back.
func (m *Machine) agentGone() {
	m.relayHeld(m.state == cancelling)
	m.leave()
}
