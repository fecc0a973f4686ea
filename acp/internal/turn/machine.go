package turn

// state is where a session is (ACP.md §4).
type state int

const (
	idle       state = iota
	user             // a prompt of the editor's is at the agent, or its last answer is held for a claim
	drain            // our prompt at the end of a turn
	wake             // our prompt, nobody asked
	cancelling       // a cancel is out, and something is unanswered
)

// delivery is notices on their way to the agent, with the leases that hold them.
type delivery struct {
	notices []string
	leases  []string
	quiet   bool // the agent had been quiet for 2 s when they went out
	spoke   bool // it has said something since
}

func (d *delivery) add(o delivery) {
	d.notices = append(d.notices, o.notices...)
	d.leases = append(d.leases, o.leases...)
}

// item is a message of the editor that waits here.
type item struct {
	ref    Ref
	prompt bool
	slash  bool
}

// claim is a claim that the daemon has not answered yet.
type claim struct {
	id     int
	reason string
}

// own is our prompt at the agent.
type own struct {
	n        int
	delivery delivery // all notices, also those acknowledged: a refusal sends them again
	attempts int      // refusals so far
}

// Machine is the turn machine of one session. It belongs to one goroutine.
type Machine struct {
	set   Settings
	state state
	ready bool // the editor knows the session
	gone  bool
	flag  bool // the bell rang
	busy  bool // the agent does something by itself
	quiet bool // no update for 2 s
	told  bool // the last Busy action

	queue []item            // what waits here, in order
	open  map[Ref]*delivery // the editor's prompts at the agent
	held  Ref               // the answered prompt whose answer waits
	own   *own              // our prompt at the agent
	stale map[int]bool      // prompts of ours that were given up, yet may still be at the agent
	retry *own              // a refused prompt that waits to be sent again
	due   bool              // its time has come

	claim  *claim
	late   map[int]bool // claims nobody waits for any more; true: their lease is parked
	carry  delivery     // what goes in front of the first prompt of the queue
	drains int          // prompts of ours in a row

	v2 v2state

	lastClaim, lastOwn int
	out                []Action
}

// New makes the machine of a session that the editor does not know yet.
func New(set Settings) *Machine {
	return &Machine{set: set, quiet: true, open: map[Ref]*delivery{}, stale: map[int]bool{}, late: map[int]bool{}}
}

// Configure changes the settings.
func (m *Machine) Configure(set Settings) { m.set = set }

// Leases are those that the machine holds: notices on their way.
func (m *Machine) Leases() []string {
	all := append([]string(nil), m.carry.leases...)
	for _, d := range m.open {
		all = append(all, d.leases...)
	}
	for _, o := range []*own{m.own, m.retry} {
		if o != nil {
			all = append(all, o.delivery.leases...)
		}
	}
	return all
}

// Holds reports whether a message of the editor waits here, unsent or with its
// answer held: then its $/cancel_request is the machine's.
func (m *Machine) Holds(ref Ref) bool {
	if ref != 0 && ref == m.held {
		return true
	}
	for _, it := range m.queue {
		if it.ref == ref {
			return true
		}
	}
	return false
}

// Waking reports whether the turn at the agent is ours with nobody waiting for it.
func (m *Machine) Waking() bool {
	return m.held == 0 && (m.state == wake || m.state == drain) && !m.ending()
}

// Step takes an event and gives what is to be done. The result is valid until
// the next Step.
func (m *Machine) Step(e Event) []Action {
	m.out = m.out[:0]
	m.take(e)
	if busy := m.isBusy(); busy != m.told {
		m.told = busy
		m.do(Busy{busy})
	}
	return m.out
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

func (m *Machine) isBusy() bool {
	return m.state != idle || m.busy || len(m.queue) > 0
}

func (m *Machine) take(e Event) {
	switch e := e.(type) {
	case Ready:
		m.ready = true
		m.next()
	case Bell:
		m.bell()
	case Prompt:
		m.prompt(e)
	case Passing:
		m.passing(e.Ref)
	case Other:
		m.other(e.Ref)
	case Answered:
		m.answered(e)
	case OwnAnswered:
		m.ownAnswered(e)
	case Claimed:
		m.claimed(e)
	case Cancel:
		m.cancel()
	case CancelRequest:
		m.cancelRequest(e.Ref)
	case Activity:
		m.activity(e.Speech)
	case AgentIdle:
		if !m.set.V2 { // which has a word of its own for that
			m.busy = false
			m.next()
		}
	case State:
		m.stateUpdate(e)
	case Permission:
		m.permission(e.Open)
	case Fired:
		m.fired(e.Timer)
	case Gone:
		m.leave()
	case AgentGone:
		m.agentGone()
	case Back:
		m.gone = false
	}
}

// next starts what may start when the session is at rest.
func (m *Machine) next() {
	switch {
	case m.state != idle || m.claim != nil:
	case len(m.queue) > 0:
		m.admit()
	default:
		m.tryWake()
	}
}

func (m *Machine) bell() {
	// A notice that comes while a cancelled turn unwinds wakes nobody (T169).
	if m.state == cancelling || m.gone {
		return
	}
	m.flag = true
	m.next()
}

// setIdle: no turn that we know of goes on. The agent may have begun one of its
// own while its last answer was held here.
func (m *Machine) setIdle() {
	m.state, m.busy = idle, m.busy || m.v2.running
}

// mayPrompt reports whether no prompt, of anybody, is at the agent.
func (m *Machine) mayPrompt() bool {
	return m.own == nil && len(m.open) == 0 && len(m.stale) == 0 && !m.gone
}

// tryWake opens a turn that nobody asked for, if there is a reason and nothing
// speaks against it.
func (m *Machine) tryWake() {
	if !m.mayPrompt() || !m.ready || m.busy {
		return
	}
	switch {
	case m.retry != nil:
		if m.due {
			m.resend()
		}
	case m.flag && m.set.Wakes:
		m.ask(ForWake, true)
	}
}

func (m *Machine) fired(t Timer) {
	switch t {
	case Patience:
		m.impatient()
	case Quiet:
		m.quiet = true
		if !m.v2.running {
			m.busy = false
		}
		m.next()
	case Grace:
		m.relayHeld(true)
	case CancelLimit:
		m.giveUp()
	case Backoff:
		m.due = true
		m.next()
	case Unanswered:
		m.unanswered()
	case Accepted:
		m.notBegun()
	}
}
