package turn

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestModel(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("v%d", map[bool]int{false: 1, true: 2}[v2]), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { model(t, v2) })
		})
	}
}

func model(t *rapid.T, v2 bool) {
	w := newWorld(t, v2)
	t.Repeat(w.happenings())
	w.ready = true
	w.step(Ready{})
	w.finish()
	for ref, state := range w.prompts {
		if state != "done" {
			t.Fatalf("prompt %d is never answered: %s", ref, state)
		}
	}
	if len(w.order) > 0 {
		t.Fatalf("messages %v never went out", w.order)
	}
	// No notice is lost: after one more bell all have been told.
	w.step(Bell{})
	w.finish()
	for n := range w.notices {
		if name := fmt.Sprintf("n%d", n+1); !w.acked[name] && !w.gone {
			t.Fatalf("%s is never told", name)
		}
	}
	if w.m.isBusy() {
		t.Fatal("busy at rest")
	}
}

// happenings are what editor, agent, daemon and time may do next.
func (w *world) happenings() map[string]func(*rapid.T) {
	results := []Result{EndTurn, EndTurn, EndTurn, Cancelled, Stopped, Failed}
	return map[string]func(*rapid.T){
		"ready": func(*rapid.T) { w.ready = true; w.step(Ready{}) },
		"prompt": func(t *rapid.T) {
			w.prompt(rapid.IntRange(0, 4).Draw(t, "slash") == 0)
		},
		"other":  func(*rapid.T) { w.other() },
		"notice": func(*rapid.T) { w.notice() },
		"cancel": func(t *rapid.T) {
			if rapid.IntRange(0, 2).Draw(t, "really") > 0 {
				t.Skip("seldom")
			}
			// What waits behind a prompt that is refused keeps its order.
			w.step(Cancel{})
		},
		"cancel request": func(t *rapid.T) {
			if w.lastRef == 0 {
				t.Skip("no message")
			}
			if ref := Ref(rapid.IntRange(1, int(w.lastRef)).Draw(t, "which")); w.m.Holds(ref) {
				w.step(CancelRequest{ref})
			}
		},
		"gone": func(t *rapid.T) {
			if w.gone || rapid.IntRange(0, 9).Draw(t, "really") > 0 {
				t.Skip("seldom")
			}
			w.gone = true
			w.step(Gone{})
		},
		"back": func(t *rapid.T) {
			if !w.gone {
				t.Skip("ours")
			}
			w.gone = false
			w.step(Back{})
		},
		"claim": func(t *rapid.T) {
			if len(w.claims) == 0 {
				t.Skip("no claim")
			}
			w.answerClaim(pick(t, w.claims, byInt[int]), rapid.IntRange(0, 5).Draw(t, "give") > 0)
		},
		"answer": func(t *rapid.T) {
			if len(w.atAgent) == 0 {
				t.Skip("nothing at the agent")
			}
			w.answerPrompt(pick(t, w.atAgent, byInt[Ref]), rapid.SampledFrom(results).Draw(t, "result"))
		},
		"answer own": func(t *rapid.T) {
			if len(w.ownAt) == 0 {
				t.Skip("nothing of ours at the agent")
			}
			w.answerOwn(pick(t, w.ownAt, byInt[int]), rapid.SampledFrom(results).Draw(t, "result"))
		},
		"activity":   func(t *rapid.T) { w.step(Activity{Speech: rapid.Bool().Draw(t, "speech")}) },
		"agent idle": func(*rapid.T) { w.step(AgentIdle{}) },
		"permission": func(t *rapid.T) { w.step(Permission{Open: rapid.Bool().Draw(t, "open")}) },
		"state": func(t *rapid.T) {
			if !w.v2 {
				t.Skip("version 1")
			}
			w.state(!w.running, rapid.SampledFrom(results[:5]).Draw(t, "result"))
		},
		"timer": func(t *rapid.T) {
			if len(w.set()) == 0 {
				t.Skip("no timer")
			}
			w.fire(pick(t, w.set(), byInt[Timer]))
		},
	}
}
