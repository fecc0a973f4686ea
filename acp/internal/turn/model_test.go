package turn

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestModel puts the machine through random interleavings of what an editor, an
// agent and a daemon may do, the deaths and returns of all three among them:
// every prompt of the editor's is answered once; never a prompt of ours beside
// another; no notice lost, none told twice outside the window of ACP.md §4; no turn
// opened that the budget has not paid for. SIDETASK_STEPS sets the number of steps.
func TestModel(t *testing.T) {
	checks := 2000
	if s := os.Getenv("SIDETASK_STEPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		checks = max(1, n/60)
	}
	for name, value := range map[string]string{"rapid.checks": strconv.Itoa(checks), "rapid.steps": "60", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("v1", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { model(t, false) }) })
	t.Run("v2", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { model(t, true) }) })
}

func model(t *rapid.T, v2 bool) {
	w := newWorld(t, v2)
	t.Repeat(w.happenings())
	w.settle()
	// No notice is lost: after one more prompt all have been told.
	w.prompt(false)
	w.finish()
	w.allTold()
	// And that prompt has restored the budget.
	w.daemon.notice()
	w.finish()
	w.allTold()
}

func (w *world) allTold() {
	if left := w.daemon.at(waiting, parked); len(left) > 0 || len(w.daemon.leased) > 0 {
		w.fatalf("notices %v are never told, leases %v never settled", left, w.daemon.leased)
	}
}

// settle brings everybody back and lets all that is open end.
func (w *world) settle() {
	w.t.Log("--- settle")
	w.daemon.away = w.daemon.away || w.dead
	if w.dead {
		w.restart()
	}
	if w.daemon.away {
		w.daemon.comeBack()
	}
	if w.gone {
		w.back()
	}
	w.ready = true
	w.step(Ready{})
	w.finish()
}

// finish answers all that is open, with nothing new, until all is at rest.
func (w *world) finish() {
	w.t.Log("--- finish")
	for range 2000 {
		switch {
		case len(w.daemon.claims) > 0:
			w.daemon.answer(slices.Min(slices.Collect(maps.Keys(w.daemon.claims))), false)
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
		case len(w.setTimers()) > 0:
			w.fire(slices.Min(slices.Collect(maps.Keys(w.setTimers()))))
		default:
			if w.m.isBusy() {
				w.fatalf("busy at rest")
			}
			w.allAnswered()
			return
		}
	}
	w.fatalf("it never comes to rest")
}

func (w *world) allAnswered() {
	for ref, state := range w.prompts {
		if state != "done" {
			w.fatalf("prompt %d is never answered: %s", ref, state)
		}
	}
	if len(w.order) > 0 {
		w.fatalf("messages %v never went out", w.order)
	}
}
