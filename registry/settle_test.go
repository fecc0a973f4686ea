package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidetask/scope"
)

// TestSettleFirst pins T1, T2, T59 and T67: one outcome, kept as it was given.
func TestSettleFirst(t *testing.T) {
	w := newWorld(t)
	task := w.start(AsOwner(w.owner("s")))
	rounds := 0
	w.OnDone("/", func(Task) { rounds++ })
	code := 3
	w.Settle(task.Row, Outcome{Status: Failed, Detail: text(""), ExitCode: &code, Signal: "SIGSEGV"})
	first := w.get(task.ID)
	commits := w.store.count
	w.Settle(task.Row, Outcome{Status: Completed})
	w.Settle(9999, Outcome{Status: Completed})
	if diff := cmp.Diff(first, w.get(task.ID)); diff != "" || rounds != 1 || w.store.count != commits {
		t.Errorf("a later outcome changed something: %s, %d rounds", diff, rounds)
	}
	if first.Status != Failed || first.Detail == nil || *first.Detail != "" || *first.ExitCode != 3 || first.Signal != "SIGSEGV" {
		t.Errorf("%+v", first)
	}
}

// TestSettleOrder pins T60 and T62: committed, waiters released, change
// announced, then completion, then the bell; all with the same snapshot.
func TestSettleOrder(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	task := w.start(AsOwner(h))
	var order []string
	var seen []Task
	note := func(what string) { order = append(order, what+" "+string(w.store.tasks[task.Row].Status)) }
	w.OnRing(func(Handle) { note("bell") })
	w.OnDone("/", func(t Task) { note("done"); seen = append(seen, t) })
	w.OnChange("/", func(Handle) { note("change") })
	w.OnDone("/", func(t Task) { note("done"); seen = append(seen, t) })
	w.end(task)
	if diff := cmp.Diff([]string{"change completed", "done completed", "done completed", "bell completed"}, order); diff != "" {
		t.Error(diff)
	}
	if len(seen) != 2 || cmp.Diff(seen[0], seen[1]) != "" || seen[0].Reported || seen[0].Owner != h {
		t.Errorf("%+v", seen)
	}
}

// TestListeners pins T63, T84 to T88, T91, T92, T102 and T103: along the chain
// from the root, contained, live.
func TestListeners(t *testing.T) {
	w := newWorld(t)
	var heard []string
	hear := func(at scope.Path, name string) (remove func()) {
		return w.OnDone(at, func(t Task) { heard = append(heard, name) })
	}
	owner := func(at scope.Path) Handle {
		h, err := w.Register(Registration{Token: tok(string(at) + "x"), Session: string(at), Scope: at}, w.host)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	hear("/a/b", "own")
	hear("/a", "mid 1")
	w.OnDone("/a", func(Task) { panic("boom") })
	hear("/a", "mid 2")
	hear("/", "root")
	hear("/sibling", "sibling")
	hear("/a/b/c", "descendant")
	w.end(w.start(AsOwner(owner("/a/b"))))
	if diff := cmp.Diff([]string{"root", "mid 1", "mid 2", "own"}, heard); diff != "" {
		t.Errorf("T87: %s", diff)
	}
	if !w.log.has("tasks: onTaskDone listener threw for bash-1: boom") {
		t.Errorf("T63: log %q", w.log.lines)
	}
	heard = nil
	shared := spec()
	shared.Shared = true
	task, err := w.Start(t.Context(), AsOperator(), shared, func(Row) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	w.end(task)
	if diff := cmp.Diff([]string{"root"}, heard); diff != "" {
		t.Errorf("T88: %s", diff)
	}

	heard = nil
	var removeLater func()
	w.OnDone("/x", func(Task) { removeLater(); hear("/x", "added") })
	removeLater = hear("/x", "removed")
	hear("/x", "last")
	w.end(w.start(AsOwner(owner("/x"))))
	if diff := cmp.Diff([]string{"root", "last", "added"}, heard); diff != "" {
		t.Errorf("T92: %s", diff)
	}
	removeLater() // again: nothing (T90)

	changes := 0
	w.OnChange("/a", func(Handle) { panic("bang") })
	w.OnChange("/a", func(Handle) { changes++ })
	w.start(AsOwner(owner("/a/b")))
	w.start(AsOwner(owner("/x")))
	if changes != 1 || !w.log.has("tasks: onTasksChanged listener threw: bang") {
		t.Errorf("T102, T103: %d changes", changes)
	}
}

// TestListenerCallsBack: listeners may call the registry; what that causes is
// told after what they were told.
func TestListenerCallsBack(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	var order []string
	w.OnDone("/", func(task Task) {
		order = append(order, task.ID)
		if task.ID == "bash-1" {
			w.end(w.start(c))
			order = append(order, "started")
		}
	})
	w.end(w.start(c))
	if diff := cmp.Diff([]string{"bash-1", "started", "bash-2"}, order); diff != "" {
		t.Error(diff)
	}
}

// TestListenersStorm pins T60 for a storm: the caller that finds the queue
// makes some of the calls and goes on; all are made, one after another, in the
// order of the commits.
func TestListenersStorm(t *testing.T) {
	w := newWorld(t)
	w.limit = 1 << 20
	c := AsOwner(w.owner("s"))
	const storm = 5 * mostCalls
	returned := make(chan struct{})
	var done []string // one call at a time: no lock
	w.OnDone("/", func(task Task) {
		done = append(done, task.ID)
		if len(done) < storm { // more comes as long as the queue is worked off
			w.end(w.start(c))
		}
		if len(done) == storm {
			<-returned // a caller that worked off everything would never return
		}
	})
	w.end(w.start(c))
	close(returned)
	w.awaitQueue()
	var want []string
	for i := range storm {
		want = append(want, fmt.Sprintf("bash-%d", i+1))
	}
	if diff := cmp.Diff(want, done); diff != "" {
		t.Error(diff)
	}
}

// TestUnheard: what nobody listens to, at its scope or above, costs no call.
func TestUnheard(t *testing.T) {
	w := newWorld(t)
	h := w.register(Registration{Token: tok("t"), Session: "s", Scope: "/a"}, w.host)
	queued := func() int {
		w.Registry.mu.Lock()
		defer w.unlock()
		w.announceLocked(w.owners[h])
		return len(w.queue)
	}
	w.OnChange("/a/b", func(Handle) {})
	if n := queued(); n != 0 {
		t.Errorf("%d calls for nobody", n)
	}
	w.OnChange("/", func(Handle) {})
	if n := queued(); n != 1 {
		t.Errorf("%d calls for a listener above", n)
	}
}

// loudHost is a host whose calls panic.
type loudHost struct{ lost, deaf string }

func (h *loudHost) Lost(Handle)                 { panic(h.lost) }
func (h *loudHost) Pending(Handle, int, string) { panic(h.deaf) }

// TestHostPanics: a host whose calls panic keeps no bell and no listener from
// being heard afterwards.
func TestHostPanics(t *testing.T) {
	w := newWorld(t)
	loud := &loudHost{lost: "gone", deaf: "deaf"}
	h, err := w.Register(Registration{Token: tok("first"), Session: "s"}, loud)
	if err != nil {
		t.Fatal(err)
	}
	w.OnRing(func(h Handle) {
		if o, _ := w.Owner(h); o.Host == loud {
			loud.Pending(h, 1, "wake")
		}
	})
	w.end(w.start(AsOwner(h)))
	w.register(Registration{Token: tok("second"), Session: "s", Takeover: true}, w.host)
	w.rung()
	w.end(w.start(AsOwner(h)))
	if len(w.rung()) != 1 || !w.log.has("threw: gone") || !w.log.has("threw: deaf") {
		t.Errorf("no bell after the panics; log %q", w.log.lines)
	}
}

// TestSettleRefused: an end that the store refuses changes nothing and is
// tried again until it works; the first outcome still wins.
func TestSettleRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		task := w.start(AsOwner(h))
		w.store.refusing(errors.New("no space left"))
		w.end(task)
		w.Settle(task.Row, Outcome{Status: Failed})
		time.Sleep(10 * retryAfter)
		if got := w.get(task.ID); got.Status != Running || len(w.Inbox(h)) != 0 {
			t.Errorf("refused, but %+v", got)
		}
		at := time.Now().UnixMilli()
		w.store.refusing(nil)
		time.Sleep(retryAfter)
		synctest.Wait()
		if got := w.get(task.ID); got.Status != Completed || got.FinishedAt >= at || len(w.Inbox(h)) != 1 || len(w.rung()) != 1 {
			t.Errorf("after recovery: %+v", got)
		}
	})
}

// TestRefusedCalls: a call whose commit is refused answers with the store's
// error and has changed nothing.
func TestRefusedCalls(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	w.start(c)
	w.end(w.start(c))
	before := w.List(c, true)
	full := errors.New("no space left")
	w.store.refusing(full)
	calls := map[string]func() error{
		"start":    func() error { _, err := w.Start(t.Context(), c, spec(), func(Row) error { return nil }); return err },
		"register": func() error { _, err := w.Register(Registration{Token: tok("t2"), Session: "new"}, w.host); return err },
		"claim": func() error {
			_, err := w.Claim(h, ClaimWake, true, ClaimRules{Served: true, MaxWakes: 1}, w.host)
			return err
		},
		"update":  func() error { return w.Update(h, OwnerChange{Title: text("t")}) },
		"dispose": func() error { _, err := w.removeOwner(&owner{disposed: make(chan struct{})}); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, full) {
			t.Errorf("%s: %v, want the store's error", name, err)
		}
		if diff := cmp.Diff(before, w.List(c, true)); diff != "" {
			t.Errorf("%s changed: %s", name, diff)
		}
	}
	if o, _ := w.Owner(h); o.Spent != 0 || o.Waiting != 1 || o.Title != "" || len(w.Owners()) != 1 {
		t.Errorf("owner %+v", o)
	}
}

// TestChanged: what a producer says of its facts is announced, and no status
// changes.
func TestChanged(t *testing.T) {
	w := newWorld(t)
	task := w.start(AsOwner(w.owner("s")))
	changes := 0
	w.OnChange("/", func(Handle) { changes++ })
	before, seq := w.get(task.ID), w.seq
	w.Changed(task.Row)
	w.Changed(9999)
	if diff := cmp.Diff(before, w.get(task.ID)); diff != "" || changes != 1 || w.seq != seq+1 {
		t.Errorf("%s, %d changes", diff, changes)
	}
}

// TestBadOutcome: a status that is no end, and an end before the start (T104).
func TestBadOutcome(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	odd, early := w.start(c), w.start(c)
	w.Settle(odd.Row, Outcome{Status: "running"})
	if got := w.get(odd.ID); got.Status != Failed || !strings.Contains(*got.Detail, "no valid outcome") {
		t.Errorf("%+v", got)
	}
	w.Settle(early.Row, Outcome{Status: Completed, EndedAt: 1})
	if got := w.get(early.ID); got.FinishedAt != got.StartedAt {
		t.Errorf("%+v", got)
	}
}

// TestChangeFeed pins T100 and T101: exactly these changes, with the owner.
func TestChangeFeed(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	var heard []Handle
	w.OnChange("/", func(h Handle) { heard = append(heard, h) })
	task := w.start(c)
	w.read(c, task.ID)
	_, _, _ = w.Wait(t.Context(), c, task.ID, 0.01)
	_, _ = w.Get(c, task.ID)
	_, _, _ = w.Kill(t.Context(), c, task.ID, nil)
	w.end(task)
	w.read(c, task.ID)
	_, _, _ = w.Kill(t.Context(), c, task.ID, nil)
	shared := spec()
	shared.Shared = true
	_, _ = w.Start(t.Context(), AsOperator(), shared, func(Row) error { return nil })
	if _, err := w.Dispose(t.Context(), h, ""); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(heard, []Handle{h, h, h, Nobody, h}) {
		t.Errorf("heard %q", heard)
	}
}

// TestClockSteps: no step of the wall clock, forward or back, changes how long
// a task took (FIELD "Environment, cwd, locale, clock"; T104).
func TestClockSteps(t *testing.T) {
	for _, step := range []time.Duration{-time.Hour, 0, 24 * time.Hour} {
		w := newWorld(t)
		task := w.start(AsOperator())
		w.Settle(task.Row, Outcome{Status: Completed, EndedAt: task.StartedAt + step.Milliseconds(), RanMs: 1500})
		ended := w.get(task.ID)
		if took := ended.FinishedAt - ended.StartedAt; took != 1500 {
			t.Errorf("the clock was set by %v: the task took %d ms, want 1500", step, took)
		}
	}
}
