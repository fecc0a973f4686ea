package turn

// claim checks that the reason is true.
func (w *world) claim(a Claim) {
	if w.gone || w.dead {
		w.fatalf("a claim for a session that is another's")
	}
	atRest := len(w.atAgent) == 0 && len(w.ownAt) == 0 && !w.inTurn && !w.running
	switch a.Reason {
	case ForUser:
		w.asked, w.silent = true, false
	case ForWake:
		if !atRest || w.works || !w.ready {
			w.fatalf("a wake is claimed in a turn, or before the session exists for the editor")
		}
	case ForTurnEnd:
		w.ending, w.endClaim = true, a.ID
		_, answered := w.last.(Answered)
		_, own := w.last.(OwnAnswered)
		fired, _ := w.last.(Fired)
		_, state := w.last.(State)
		if over := answered || own || w.v2 && (state || fired.Timer == Accepted); !over || !atRest {
			w.fatalf("the end of a turn is claimed, and none has ended: that is free of charge")
		}
	}
	w.daemon.claimed(a)
}

func (w *world) forwarded(a Forward) {
	if len(w.order) == 0 || w.order[0] != a.Ref {
		// A message may overtake only prompts that were just refused.
		w.fatalf("message %d overtakes %v", a.Ref, w.order)
	}
	w.order = w.order[1:]
	if !w.isPrompt[a.Ref] {
		return
	}
	if len(w.ownAt) > 0 && !w.givenUp && !w.dead {
		w.fatalf("prompt %d goes out beside ours", a.Ref)
	}
	if w.slash[a.Ref] && len(a.Notices) > 0 {
		w.fatalf("notices in front of a slash command")
	}
	if !w.v2 && !w.gone && !w.dead && len(w.atAgent) == 0 && len(w.ownAt) == 0 {
		w.silent, w.asked = !w.asked, false
	}
	w.drains, w.works = 0, false
	w.atAgent[a.Ref] = true
	w.tell(a.Notices, a.Ref, 0)
}

func (w *world) sent(a Send) {
	defer func() { w.works = false }()
	switch {
	case len(w.ownAt) > 0 || len(w.atAgent) > 0 || w.inTurn || w.late || w.running:
		w.fatalf("a prompt of ours beside another: own %v, user %v, turn %v", w.ownAt, w.atAgent, w.inTurn)
	case !w.ready && a.Alone && len(w.prompts) == 0:
		w.fatalf("a wake before the session exists for the editor")
	case len(a.Notices) == 0:
		w.fatalf("a prompt without notices")
	case w.gone || w.dead:
		w.fatalf("a prompt of ours for a session that is another's")
	}
	w.pay(a)
	w.ownAt[a.N] = true
	w.tell(a.Notices, 0, a.N)
}

// pay checks that a prompt of ours has been paid for: it goes on with a turn, at
// most MaxDrains times, or is a refused one again, or has a wake of the budget.
func (w *world) pay(a Send) {
	if w.ended {
		if w.drains++; w.drains > w.set.MaxDrains {
			w.fatalf("%d prompts of ours in a row", w.drains)
		}
		return
	}
	w.drains = 0
	for _, n := range a.Notices {
		if t := w.told[n]; t != nil && t.failed {
			return
		}
	}
	if w.works {
		w.fatalf("a wake beside the agent's own activity")
	}
	if !w.daemon.spend(a.Notices) {
		w.fatalf("a turn is opened that no wake has paid for: %v", a.Notices)
	}
}
