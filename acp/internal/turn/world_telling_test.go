package turn

// telling is a notice that was given to the agent, in a prompt of the editor's
// or of ours.
type telling struct {
	notice    string
	ref       Ref
	own       int
	quiet     bool // the agent had been quiet for 2 s
	spoke     bool // it has said something since
	answered  bool // in version 2: accepted
	failed    bool
	cancelled bool // since
	excused   bool // may be told again: inside the window of §4
}

// tell notes that the agent was given notices: none that it has, and none twice
// outside the window.
func (w *world) tell(notices []string, ref Ref, own int) {
	for _, n := range notices {
		before := w.told[n]
		if w.daemon.notices[n] == acked && !w.daemon.strayed[n] && !(before != nil && before.failed) {
			w.fatalf("%s is told, though it was acknowledged", n) // only a refusal after that tries again
		}
		if before != nil && !before.excused && !w.daemon.strayed[n] {
			w.fatalf("%s is told twice", n)
		}
		stray := w.daemon.leaseOf(n) == "" // its lease has come back to the daemon, after a minute
		w.told[n] = &telling{notice: n, ref: ref, own: own, quiet: w.quiet, excused: w.dead || w.gone || stray}
	}
}

// each gives the tellings of a prompt that is at the agent.
func (w *world) each(ref Ref, own int, do func(*telling)) {
	for _, t := range w.told {
		if !t.answered && t.ref == ref && t.own == own {
			do(t)
		}
	}
}

func (w *world) excuse(which func(*telling) bool) {
	for _, t := range w.told {
		t.excused = t.excused || which(t)
	}
}

// spoke: the agent has said something.
func (w *world) spoke() {
	for _, t := range w.told {
		t.spoke = t.spoke || !t.answered
	}
}

// cancelled: a cancel has gone to the agent.
func (w *world) cancelled() {
	for _, t := range w.told {
		t.cancelled = t.cancelled || !t.answered
	}
}

// answered: of a prompt that fails, or was cancelled before the agent has said
// anything, it may not have the notices.
func (t *telling) answer(r Result, v2 bool) {
	t.answered, t.failed = true, r == Failed
	t.excused = t.excused || t.failed || t.unread(v2)
}

func (t *telling) unread(v2 bool) bool { return t.cancelled && !t.spoke && !v2 }

// mayAck checks that the agent has the notices of a lease: it has answered their
// prompt with no error, or spoken after it, having been quiet.
func (w *world) mayAck(lease string) {
	for _, n := range w.daemon.leased[lease] {
		t := w.told[n]
		switch {
		case t == nil:
			w.fatalf("%s is acknowledged and was never told", n)
		case t.quiet && t.spoke:
		case !t.answered || t.failed:
			w.fatalf("%s is acknowledged too early", n)
		case t.unread(w.v2) && !w.givenUp:
			w.fatalf("%s is acknowledged, and its prompt was cancelled unread", n)
		}
	}
	w.known(lease)
}

// mayRelease checks that a lease that is given back is not one that the agent has.
func (w *world) mayRelease(lease string) {
	for _, n := range w.daemon.leased[lease] {
		if t := w.told[n]; t != nil && !t.excused {
			w.fatalf("%s is given back, and the agent has it", n)
		}
	}
	w.known(lease)
}

func (w *world) known(lease string) {
	if _, ok := w.daemon.leased[lease]; !ok && !w.daemon.lapsed[lease] {
		w.fatalf("lease %s is not held", lease)
	}
	if _, said := w.daemon.unsaid[lease]; said {
		w.fatalf("lease %s is settled twice", lease)
	}
}
