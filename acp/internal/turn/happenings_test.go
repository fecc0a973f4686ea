package turn

import (
	"fmt"

	"pgregory.net/rapid"
)

// happenings are what editor, agent, daemon and time may do next.
func (w *world) happenings() map[string]func(*rapid.T) {
	results := []Result{EndTurn, EndTurn, EndTurn, Cancelled, Stopped, Failed}
	if w.refuses {
		results = []Result{EndTurn, Failed, Failed, Failed, Failed, Failed, Failed}
	}
	seldom := func(t *rapid.T, n int) {
		if rapid.IntRange(0, n).Draw(t, "really") > 0 {
			t.Skip("seldom")
		}
	}
	draw := func(t *rapid.T) Result { return rapid.SampledFrom(results).Draw(t, "result") }
	all := map[string]func(*rapid.T){
		"ready":      func(*rapid.T) { w.ready = true; w.step(Ready{}) },
		"prompt":     func(t *rapid.T) { w.prompt(rapid.IntRange(0, 4).Draw(t, "slash") == 0) },
		"passing":    func(t *rapid.T) { seldom(t, 2); need(t, !w.m.Occupied()); w.passing() },
		"other":      func(*rapid.T) { w.other() },
		"notice":     func(*rapid.T) { w.daemon.notice() },
		"idle":       func(*rapid.T) { w.step(AgentIdle{}) },
		"permission": func(t *rapid.T) { w.step(Permission{Open: rapid.Bool().Draw(t, "open")}) },
		"activity":   func(t *rapid.T) { w.activity(rapid.Bool().Draw(t, "speech")) },
		"cancel":     func(t *rapid.T) { seldom(t, 2); w.cancelled(); w.step(Cancel{}) },
		"cancel request": func(t *rapid.T) {
			need(t, w.lastRef > 0)
			if ref := Ref(rapid.IntRange(1, int(w.lastRef)).Draw(t, "which")); w.m.Holds(ref) {
				w.step(CancelRequest{ref})
			}
		},
		"answer": func(t *rapid.T) {
			need(t, len(w.atAgent) > 0)
			w.answerPrompt(pick(t, w.atAgent), draw(t))
		},
		"answer own": func(t *rapid.T) {
			need(t, len(w.ownAt) > 0)
			w.answerOwn(pick(t, w.ownAt), draw(t))
		},
		"state": func(t *rapid.T) {
			need(t, w.v2)
			w.state(!w.running, rapid.SampledFrom(results[:5]).Draw(t, "result"))
		},
		"timer": func(t *rapid.T) {
			need(t, len(w.setTimers()) > 0)
			w.fire(pick(t, w.setTimers()))
		},
		"claim": func(t *rapid.T) {
			need(t, len(w.daemon.claims) > 0)
			ids := map[int]bool{}
			for id := range w.daemon.claims {
				ids[id] = true
			}
			w.daemon.answer(pick(t, ids), rapid.IntRange(0, 5).Draw(t, "fails") == 0)
		},
		"gone": func(t *rapid.T) { need(t, !w.gone); seldom(t, 9); w.leave() },
		"back": func(t *rapid.T) { need(t, w.gone && !w.daemon.away); w.back() },
		"daemon ends": func(t *rapid.T) {
			need(t, !w.daemon.away)
			seldom(t, 3)
			w.daemon.leave(rapid.Bool().Draw(t, "granted"))
		},
		"a minute without": func(t *rapid.T) { need(t, w.daemon.away); seldom(t, 2); w.daemon.lapse() },
		"daemon is back":   func(t *rapid.T) { need(t, w.daemon.away && !w.gone); w.daemon.comeBack() },
		"agent dies":       func(t *rapid.T) { seldom(t, 9); w.die() },
		"restart": func(t *rapid.T) {
			seldom(t, 9)
			w.restart()
		},
	}
	for name, do := range all {
		if name != "restart" && name != "notice" {
			all[name] = func(t *rapid.T) {
				if w.dead { // nothing but a new proxy can come
					w.restart()
					return
				}
				do(t)
			}
		}
	}
	for i := range 2 { // what makes the others possible more often
		all[fmt.Sprint("notice ", i)] = all["notice"]
		all[fmt.Sprint("claim ", i)] = all["claim"]
	}
	if w.refuses { // again and again
		for i := range 8 {
			all[fmt.Sprint("answer own ", i)] = all["answer own"]
			all[fmt.Sprint("timer ", i)] = all["timer"]
		}
	}
	return all
}

func need(t *rapid.T, that bool) {
	if !that {
		t.Skip("cannot be")
	}
}

func (w *world) prompt(slash bool) {
	w.lastRef++
	w.prompts[w.lastRef], w.isPrompt[w.lastRef], w.slash[w.lastRef] = "sent", true, slash
	w.order = append(w.order, w.lastRef)
	w.step(Prompt{Ref: w.lastRef, Slash: slash})
}

// passing is a prompt that is too long to wait: it goes behind all that waited.
func (w *world) passing() {
	w.lastRef++
	w.prompts[w.lastRef], w.isPrompt[w.lastRef] = "sent", true
	w.step(Passing{w.lastRef})
	switch rest := len(w.atAgent) == 0 && len(w.ownAt) == 0; {
	case len(w.order) > 0 && len(w.ownAt) == 0 && !w.inTurn:
		w.fatalf("prompt %d overtakes %v", w.lastRef, w.order)
	case len(w.ownAt) > 0 && !w.givenUp:
		w.fatalf("prompt %d goes out beside ours", w.lastRef)
	case !w.v2 && !w.gone && rest && !w.asked:
		w.fatalf("the user spoke, and the budget is not restored")
	case rest:
		w.asked = false
	}
	w.drains, w.works = 0, false
	w.atAgent[w.lastRef] = true
}

func (w *world) other() {
	w.lastRef++
	w.order = append(w.order, w.lastRef)
	w.step(Other{Ref: w.lastRef})
}

func (w *world) activity(speech bool) {
	w.quiet = false
	if speech {
		w.spoke()
	}
	w.step(Activity{Speech: speech})
}

func (w *world) answerPrompt(ref Ref, r Result) {
	delete(w.atAgent, ref)
	w.prompts[ref] = "answered"
	w.each(ref, 0, func(t *telling) { t.answer(r, w.v2) })
	w.accept(r)
	w.step(Answered{Ref: ref, Result: r})
}

func (w *world) answerOwn(n int, r Result) {
	delete(w.ownAt, n)
	w.each(0, n, func(t *telling) { t.answer(r, w.v2) })
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

// leave: the session is another proxy's, with the leases that were not acknowledged.
func (w *world) leave() {
	w.gone = true
	w.excuse(func(t *telling) bool { return true })
	w.step(Gone{})
}

func (w *world) back() {
	w.gone = false
	w.step(Back{})
	w.daemon.comeBack()
}

// die: the agent ends. An answer that it gave before still goes out; the open
// requests are answered with an error, which is not the machine's business.
func (w *world) die() {
	w.dead = true
	w.excuse(func(t *telling) bool { return !t.answered })
	w.step(AgentGone{})
	for ref, state := range w.prompts {
		if state == "answered" {
			w.fatalf("the answer to prompt %d is lost with the agent", ref)
		}
		w.prompts[ref] = "done"
	}
	w.order, w.timers = nil, map[Timer]bool{}
	if held := w.m.Leases(); len(held) > 0 {
		w.fatalf("leases %v are kept for an agent that has ended", held)
	}
}

// restart: a new proxy resumes the session. The old one was killed, or its agent
// has ended: what it did not say is not said, its leases come back.
func (w *world) restart() {
	w.excuse(func(t *telling) bool { return true })
	w.daemon.forget()
	w.begin()
	if !w.daemon.away {
		w.daemon.comeBack()
	}
}
