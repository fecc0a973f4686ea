package turn

import (
	"slices"
	"testing"
	"time"
)

// play gives a machine events and collects what it says.
func play(v2 bool, events ...Event) (did []Action) {
	m := New(Settings{V2: v2, Wakes: true, MaxDrains: 8, AgentGrace: time.Second, Permission: time.Minute})
	for _, e := range events {
		did = append(did, m.Step(e)...)
	}
	return did
}

// TestSpokeBeforeTheRefusal: what the agent said before it refused a prompt of
// ours is no sign that it has taken up the one that is sent again. That one is
// cancelled at once: its notice is given back (T168).
func TestSpokeBeforeTheRefusal(t *testing.T) {
	did := play(false,
		Ready{}, Prompt{Ref: 1}, Claimed{ID: 1}, Activity{Speech: true}, Answered{Ref: 1}, Claimed{ID: 2},
		Bell{}, Claimed{ID: 3, Notices: []string{"n"}, Lease: "l"},
		Activity{Speech: true}, // not after 2 s of quiet: it is no acknowledgement
		OwnAnswered{N: 1, Result: Failed}, Fired{Quiet}, Fired{Backoff},
		Cancel{}, OwnAnswered{N: 2, Result: Cancelled},
	)
	if slices.Contains(did, Action(Ack{"l"})) || !slices.Contains(did, Action(Release{Lease: "l", Park: true})) {
		t.Errorf("did %+v", did)
	}
}

// TestRetryAndRefusedDrain: a refused wake waits to be sent again while the user
// speaks; the prompt at the end of that turn is refused, too. Neither is forgotten.
func TestRetryAndRefusedDrain(t *testing.T) {
	m := New(Settings{V2: true, Wakes: true, MaxDrains: 8})
	for _, e := range []Event{
		Ready{},
		Bell{},
		Claimed{ID: 1, Notices: []string{"n1"}, Lease: "l1"},
		OwnAnswered{N: 1, Result: Failed},
		Prompt{Ref: 1, Slash: true},
		Claimed{ID: 2},
		Answered{Ref: 1},
		State{Busy: true},
		State{},
		Claimed{ID: 3, Notices: []string{"n2"}, Lease: "l2"},
		OwnAnswered{N: 2, Result: Failed},
	} {
		m.Step(e)
	}
	if held := m.Leases(); !slices.Contains(held, "l1") || !slices.Contains(held, "l2") {
		t.Errorf("it holds %v, of l1 and l2", held)
	}
}

// TestSpeaksWhileItsAnswerIsHeld: an agent that goes on by itself right after its
// end_turn is busy: no wake beside that.
func TestSpeaksWhileItsAnswerIsHeld(t *testing.T) {
	did := play(false, Ready{}, Prompt{Ref: 1}, Claimed{ID: 1}, Answered{Ref: 1}, Activity{Speech: true}, Bell{}, Claimed{ID: 2})
	if slices.Contains(did, Action(Claim{ID: 3, Reason: ForWake, Take: true})) {
		t.Error("a wake is claimed while the agent is at work")
	}
}

// TestRefusedWhileTheAgentRuns: a prompt is refused while the agent runs by itself;
// a bell that rings after that is answered when it is idle.
func TestRefusedWhileTheAgentRuns(t *testing.T) {
	did := play(true, Ready{}, Prompt{Ref: 1}, Claimed{ID: 1}, State{Busy: true}, Answered{Ref: 1, Result: Failed}, Bell{}, State{})
	if !slices.Contains(did, Action(Claim{ID: 2, Reason: ForWake, Take: true})) {
		t.Errorf("nobody is woken: %+v", did)
	}
}

// TestLateBegin: the agent accepts a prompt of ours that was given up. It is about
// to begin with it, also after a prompt of the editor that it refused.
func TestLateBegin(t *testing.T) {
	did := play(true,
		Ready{}, Bell{}, Claimed{ID: 1, Notices: []string{"n"}, Lease: "l"}, Cancel{}, Fired{CancelLimit}, OwnAnswered{N: 1},
		Prompt{Ref: 1, Slash: true}, Fired{Patience}, Answered{Ref: 1, Result: Failed}, Claimed{ID: 2}, Bell{},
	)
	if slices.Contains(did, Action(Claim{ID: 3, Reason: ForWake, Take: true})) {
		t.Error("a wake is claimed beside the turn that is about to begin")
	}
}

// TestPassingInAWakeTurn: a prompt that is too long to wait goes to an agent of
// version 2 in a turn of ours. From then on the user is there: no request for
// permission ends that turn.
func TestPassingInAWakeTurn(t *testing.T) {
	m := New(Settings{V2: true, Wakes: true, MaxDrains: 8, Permission: time.Minute})
	for _, e := range []Event{Ready{}, Bell{}, Claimed{ID: 1, Notices: []string{"n"}, Lease: "l"}, OwnAnswered{N: 1}} {
		m.Step(e)
	}
	if !m.Occupied() {
		t.Error("it has room for a prompt beside a turn of ours")
	}
	var did []Action
	for _, e := range []Event{Passing{1}, Permission{Open: true}, Fired{Unanswered}} {
		did = append(did, m.Step(e)...)
	}
	if slices.Contains(did, Action(Interrupt{})) {
		t.Error("the user's prompt is cancelled")
	}
}
