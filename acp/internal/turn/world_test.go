package turn

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// world is an editor, an agent and a daemon around a machine, and what each of
// them may rely on (ACP.md §4).
type world struct {
	t  *rapid.T
	m  *Machine
	v2 bool

	lastRef  Ref
	prompts  map[Ref]string // of the editor: "sent", "answered" by the agent, "done"
	order    []Ref          // messages of the editor not yet forwarded or refused
	isPrompt map[Ref]bool
	slash    map[Ref]bool

	atAgent map[Ref]bool // the editor's prompts that the agent has not answered
	ownAt   map[int][]string
	inTurn  bool // version 2: something accepted runs
	running bool
	givenUp bool         // the 30 s after a cancel are over: ours may still be there
	ghosts  map[int]bool // prompts of ours that were
	late    bool         // version 2: one of them was accepted after all, and is about to run
	timers  map[Timer]bool
	claims  map[int]Claim
	waiting []string
	leased  map[string][]string
	acked   map[string]bool
	told    map[string]int // times given to the agent since last released
	leases  int
	notices int
	failing map[string]bool // may be told again: their prompt was refused
	asked   bool            // the daemon has heard that the user spoke, by a claim
	silent  bool            // a prompt went out and it has not
	ready   bool
	gone    bool // closed, or taken over
}

func newWorld(t *rapid.T, v2 bool) *world {
	set := Settings{V2: v2, Wakes: true, MaxDrains: 3, AgentGrace: time.Second, Permission: time.Minute}
	return &world{
		t: t, v2: v2, m: New(set),
		prompts: map[Ref]string{}, isPrompt: map[Ref]bool{}, slash: map[Ref]bool{},
		atAgent: map[Ref]bool{}, ownAt: map[int][]string{}, ghosts: map[int]bool{}, timers: map[Timer]bool{}, claims: map[int]Claim{},
		leased: map[string][]string{}, acked: map[string]bool{}, told: map[string]int{}, failing: map[string]bool{},
	}
}

func (w *world) log(format string, args ...any) {
	w.t.Logf(format, args...)
}

func (w *world) step(e Event) {
	w.log("event %T%+v", e, e)
	acts := slices.Clone(w.m.Step(e))
	for _, a := range acts {
		w.log("    do %T%+v", a, a)
		w.do(a)
	}
	w.check()
}

func (w *world) do(a Action) {
	switch a := a.(type) {
	case Forward:
		w.forwarded(a)
	case Send:
		w.sent(a)
	case Relay:
		if w.prompts[a.Ref] != "answered" {
			w.t.Fatalf("prompt %d relayed though %s", a.Ref, w.prompts[a.Ref])
		}
		w.prompts[a.Ref] = "done"
	case Refuse:
		if !slices.Contains(w.order, a.Ref) {
			w.t.Fatalf("message %d refused, which does not wait", a.Ref)
		}
		if w.isPrompt[a.Ref] {
			w.prompts[a.Ref] = "done"
		}
		w.order = slices.DeleteFunc(w.order, func(r Ref) bool { return r == a.Ref })
	case Interrupt:
		if len(w.ownAt) == 0 && !w.inTurn {
			w.t.Fatal("a cancel of ours, and nothing of ours is there")
		}
	case Claim:
		if w.gone {
			w.t.Fatal("a claim for a session that is another's")
		}
		w.claims[a.ID] = a
		if a.Reason == ForUser {
			w.asked, w.silent = true, false
		}
	case Ack:
		for _, n := range w.leased[a.Lease] {
			w.acked[n] = true
		}
		if _, ok := w.leased[a.Lease]; !ok {
			w.t.Fatalf("ack of %s, which is not held", a.Lease)
		}
		delete(w.leased, a.Lease)
	case Release:
		if _, ok := w.leased[a.Lease]; !ok {
			w.t.Fatalf("release of %s, which is not held", a.Lease)
		}
		for _, n := range w.leased[a.Lease] {
			w.told[n] = 0
		}
		w.waiting = append(w.waiting, w.leased[a.Lease]...)
		delete(w.leased, a.Lease)
	case SetTimer:
		w.timers[a.Timer] = a.After > 0
	}
}

func (w *world) forwarded(a Forward) {
	if len(w.order) == 0 || w.order[0] != a.Ref {
		// A message may overtake only prompts that were just refused.
		w.t.Fatalf("message %d overtakes %v", a.Ref, w.order)
	}
	w.order = w.order[1:]
	if !w.isPrompt[a.Ref] {
		return
	}
	if len(w.ownAt) > 0 && !w.givenUp {
		w.t.Fatalf("prompt %d goes out beside ours", a.Ref)
	}
	if w.slash[a.Ref] && len(a.Notices) > 0 {
		w.t.Fatal("notices in front of a slash command")
	}
	if !w.v2 && !w.gone && len(w.atAgent) == 0 && len(w.ownAt) == 0 {
		w.silent, w.asked = !w.asked, false
	}
	w.atAgent[a.Ref] = true
	w.tell(a.Notices)
}

func (w *world) sent(a Send) {
	if len(w.ownAt) > 0 || len(w.atAgent) > 0 || w.inTurn || w.late || w.running {
		w.t.Fatalf("a prompt of ours beside another: own %v, user %v, turn %v", w.ownAt, w.atAgent, w.inTurn)
	}
	if !w.ready && a.Alone && len(w.prompts) == 0 {
		w.t.Fatal("a wake before the session exists for the editor")
	}
	if len(a.Notices) == 0 {
		w.t.Fatal("a prompt without notices")
	}
	if w.gone {
		w.t.Fatal("a prompt of ours for a session that is another's")
	}
	w.ownAt[a.N] = slices.Clone(a.Notices)
	w.tell(a.Notices)
}

// tell notes that the agent was given notices: none twice, unless it refused
// them or they were given back.
func (w *world) tell(notices []string) {
	for _, n := range notices {
		if w.told[n]++; w.told[n] > 1 && !w.failing[n] {
			w.t.Fatalf("%s told twice", n)
		}
	}
}

// check is what always holds.
func (w *world) check() {
	if w.silent && !w.gone {
		w.t.Fatal("the user spoke, and the budget is not restored")
	}
	held := w.m.Leases()
	for _, l := range held {
		if _, ok := w.leased[l]; !ok {
			w.t.Fatalf("the machine holds %s, which the daemon does not know", l)
		}
	}
	if len(held) != len(w.leased) {
		w.t.Fatalf("leases %v, the machine holds %v", slices.Collect(maps.Keys(w.leased)), held)
	}
}

func (w *world) prompt(slash bool) {
	w.lastRef++
	w.prompts[w.lastRef], w.isPrompt[w.lastRef], w.slash[w.lastRef] = "sent", true, slash
	w.order = append(w.order, w.lastRef)
	w.step(Prompt{Ref: w.lastRef, Slash: slash})
}

func (w *world) other() {
	w.lastRef++
	w.order = append(w.order, w.lastRef)
	w.step(Other{Ref: w.lastRef})
}

func (w *world) notice() {
	w.notices++
	w.waiting = append(w.waiting, fmt.Sprintf("n%d", w.notices))
	w.step(Bell{})
}

// answerClaim: give says what the daemon has, else it refuses or fails.
func (w *world) answerClaim(id int, give bool) {
	c := w.claims[id]
	delete(w.claims, id)
	e := Claimed{ID: id}
	if give && c.Take && len(w.waiting) > 0 {
		w.leases++
		e.Lease, e.Notices = fmt.Sprintf("l%d", w.leases), w.waiting
		w.leased[e.Lease], w.waiting = w.waiting, nil
	}
	w.step(e)
}

func (w *world) answerPrompt(ref Ref, r Result) {
	delete(w.atAgent, ref)
	w.prompts[ref] = "answered"
	w.accept(r)
	w.step(Answered{Ref: ref, Result: r})
}

func (w *world) answerOwn(n int, r Result) {
	for _, text := range w.ownAt[n] {
		w.failing[text] = r == Failed
	}
	delete(w.ownAt, n)
	if w.ghosts[n] {
		w.late = w.v2 && r != Failed
	} else {
		w.accept(r)
	}
	w.step(OwnAnswered{N: n, Result: r})
}

// accept: in version 2 an accepted prompt's turn begins.
func (w *world) accept(r Result) {
	if w.v2 && r != Failed {
		w.inTurn = true
	}
}

func (w *world) state(busy bool, r Result) {
	w.running, w.late = busy, false
	if !busy {
		w.inTurn = false
	}
	w.step(State{Busy: busy, Result: r})
}

// fire lets a timer that is set run out.
func (w *world) fire(t Timer) {
	w.timers[t] = false
	if t == CancelLimit {
		w.givenUp = true
		for n := range w.ownAt {
			w.ghosts[n] = true
		}
	}
	if (t == Accepted || t == CancelLimit) && !w.running {
		w.inTurn = false
	}
	if t == Quiet || t == Accepted {
		w.late = false
	}
	w.step(Fired{t})
}

func pick[K comparable, V any](t *rapid.T, m map[K]V, less func(a, b K) int) K {
	keys := slices.SortedFunc(maps.Keys(m), less)
	return rapid.SampledFrom(keys).Draw(t, "which")
}

func byInt[K ~int](a, b K) int { return int(a) - int(b) }

func (w *world) set() map[Timer]bool {
	on := maps.Clone(w.timers)
	maps.DeleteFunc(on, func(_ Timer, set bool) bool { return !set })
	return on
}

// finish answers all that is open, with nothing new, until all is at rest.
func (w *world) finish() {
	w.log("--- finish")
	for range 2000 {
		switch {
		case len(w.claims) > 0:
			w.answerClaim(slices.Min(slices.Collect(maps.Keys(w.claims))), true)
		case len(w.atAgent) > 0:
			w.answerPrompt(slices.Min(slices.Collect(maps.Keys(w.atAgent))), EndTurn)
		case len(w.ownAt) > 0:
			w.answerOwn(slices.Min(slices.Collect(maps.Keys(w.ownAt))), EndTurn)
		case w.inTurn || w.running || w.late:
			w.late = false
			if !w.running {
				w.state(true, EndTurn)
			}
			w.state(false, EndTurn)
		case len(w.set()) > 0:
			w.fire(slices.Min(slices.Collect(maps.Keys(w.set()))))
		default:
			return
		}
	}
	w.t.Fatal("it never comes to rest")
}
