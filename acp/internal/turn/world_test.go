package turn

import (
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// world is an editor, an agent and a daemon around a machine, and what each of
// them may rely on (ACP.md §4).
type world struct {
	t      *rapid.T
	m      *Machine
	v2     bool
	set    Settings
	ready  bool
	gone   bool // closed, or taken over
	timers map[Timer]bool
	last   Event // that the machine is at
	next   []Event
	daemon *daemon

	lastRef  Ref
	prompts  map[Ref]string // of the editor: "sent", "answered" by the agent, "done"
	order    []Ref          // messages of the editor not yet forwarded or refused
	isPrompt map[Ref]bool
	slash    map[Ref]bool
	asked    bool // the daemon has heard that the user spoke, by a claim
	silent   bool // a prompt went out and it has not

	atAgent  map[Ref]bool // the editor's prompts that the agent has not answered
	ownAt    map[int]bool // ours
	refuses  bool         // it refuses nearly everything
	dead     bool         // the agent has ended
	quiet    bool         // it has said nothing for 2 s
	inTurn   bool         // version 2: something accepted runs
	running  bool
	givenUp  bool                // the 30 s after a cancel are over: what was there may still be
	ghosts   map[int]bool        // prompts of ours that were
	late     bool                // version 2: one of them was accepted after all, and is about to run
	told     map[string]*telling // the newest of each notice
	works    bool                // by itself
	ending   bool                // a claim for the end of a turn is out,
	endClaim int                 // that one,
	ended    bool                // and it is over, with this event
	drains   int                 // prompts of ours in a row at the end of a turn
}

// maxWakes is the budget of the model's daemon.
const maxWakes = 2

func newWorld(t *rapid.T, v2 bool) *world {
	w := &world{t: t, v2: v2, set: Settings{V2: v2, Wakes: true, MaxDrains: rapid.IntRange(1, 3).Draw(t, "drains"), AgentGrace: time.Second, Permission: time.Minute}, told: map[string]*telling{}}
	w.daemon, w.refuses = newDaemon(w), rapid.IntRange(0, 4).Draw(t, "refuses") == 0
	w.begin()
	return w
}

// begin is a new proxy with a new agent and editor.
func (w *world) begin() {
	w.m, w.lastRef, w.order, w.next = New(w.set), 0, nil, nil
	w.prompts, w.isPrompt, w.slash = map[Ref]string{}, map[Ref]bool{}, map[Ref]bool{}
	w.atAgent, w.ownAt, w.ghosts, w.timers = map[Ref]bool{}, map[int]bool{}, map[int]bool{}, map[Timer]bool{}
	w.ready, w.gone, w.dead, w.quiet = false, false, false, true
	w.inTurn, w.running, w.givenUp, w.late, w.asked, w.silent = false, false, false, false, false, false
	w.works, w.ending, w.drains = false, false, 0
}

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format, args...)
}

// step gives the machine an event, and what came of it at once.
func (w *world) step(e Event) {
	w.next = append(w.next, e)
	for n := 0; len(w.next) > 0; n++ {
		if n > 100 {
			w.fatalf("it claims and claims")
		}
		w.last, w.next = w.next[0], w.next[1:]
		w.look(w.last)
		w.t.Logf("event %T%+v", w.last, w.last)
		for _, a := range slices.Clone(w.m.Step(w.last)) {
			w.t.Logf("    do %T%+v", a, a)
			w.do(a)
		}
		w.check()
	}
}

func (w *world) do(a Action) {
	switch a := a.(type) {
	case Forward:
		w.forwarded(a)
	case Send:
		w.sent(a)
	case Relay:
		if w.prompts[a.Ref] != "answered" {
			w.fatalf("prompt %d relayed though %s", a.Ref, w.prompts[a.Ref])
		}
		w.prompts[a.Ref] = "done"
	case Refuse:
		if !slices.Contains(w.order, a.Ref) {
			w.fatalf("message %d refused, which does not wait", a.Ref)
		}
		if w.isPrompt[a.Ref] {
			w.prompts[a.Ref] = "done"
		}
		w.order = slices.DeleteFunc(w.order, func(r Ref) bool { return r == a.Ref })
	case Interrupt:
		if len(w.ownAt) == 0 && !w.inTurn {
			w.fatalf("a cancel of ours, and nothing of ours is there")
		}
		w.cancelled()
	case Claim:
		w.claim(a)
	case Ack:
		w.mayAck(a.Lease)
		w.daemon.settle(a.Lease, acked)
	case Release:
		w.mayRelease(a.Lease)
		if a.Park {
			w.daemon.settle(a.Lease, parked)
		} else {
			w.daemon.settle(a.Lease, waiting)
		}
	case SetTimer:
		w.timers[a.Timer] = a.After > 0
	}
}

// look notes what an event says of the agent.
func (w *world) look(e Event) {
	was := w.ending
	defer func() {
		_, cancel := e.(Cancel)
		w.ended = was && !w.ending && !cancel
	}()
	switch e := e.(type) {
	case Fired:
		w.ending = w.ending && e.Timer != Patience
		w.works = w.works && e.Timer != Quiet
	case Claimed:
		w.ending = w.ending && e.ID != w.endClaim
	case Prompt, Passing, Cancel, CancelRequest, Gone, AgentGone:
		w.ending = false
	case Activity:
		w.works = w.works || !w.v2 && len(w.atAgent) == 0 && len(w.ownAt) == 0
	case AgentIdle:
		w.works = false
	}
}

// check is what always holds.
func (w *world) check() {
	if a, ok := w.last.(Answered); ok && w.ending && !w.v2 && w.prompts[a.Ref] == "done" {
		w.fatalf("the answer to prompt %d goes out before the notices at its end", a.Ref)
	}
	if w.silent && !w.gone {
		w.fatalf("the user spoke, and the budget is not restored")
	}
	held := w.m.Leases()
	for _, l := range held {
		if _, ok := w.daemon.leased[l]; !ok && !w.daemon.lapsed[l] {
			w.fatalf("the machine holds %s, which the daemon does not know", l)
		}
	}
	for l := range w.daemon.leased {
		if !slices.Contains(held, l) && !w.daemon.unheard(l) {
			w.fatalf("the daemon has lease %s out, the machine holds %v", l, held)
		}
	}
}

// fire lets a timer that is set run out.
func (w *world) fire(t Timer) {
	w.timers[t] = false
	if t == CancelLimit {
		w.givenUp = true
		for n := range w.ownAt {
			w.ghosts[n] = true
		}
		w.excuse(func(t *telling) bool { return w.ownAt[t.own] })
	}
	if (t == Accepted || t == CancelLimit) && !w.running {
		w.inTurn = false
	}
	if t == Quiet || t == Accepted || t == CancelLimit { // 2, 2 and 30 s: it would have begun
		w.late = false
	}
	w.quiet = w.quiet || t == Quiet
	w.step(Fired{t})
}

func (w *world) setTimers() map[Timer]bool {
	on := maps.Clone(w.timers)
	maps.DeleteFunc(on, func(_ Timer, set bool) bool { return !set })
	return on
}

func pick[K ~int](t *rapid.T, m map[K]bool) K {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(m))).Draw(t, "which")
}
