package registry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ended starts and ends n tasks of an owner.
func (w *world) ended(h Handle, n int) []Task {
	w.t.Helper()
	var tasks []Task
	for range n {
		task := w.start(AsOwner(h))
		w.end(task)
		tasks = append(tasks, task)
	}
	w.rung()
	return tasks
}

// TestInbox pins T155: one notice for each unreported end of an owner's task,
// none for unowned ones and the operator's; oldest end first.
func TestInbox(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	first, second, third := w.start(c), w.start(c), w.start(c)
	w.end(second)
	w.end(first)
	w.end(w.start(AsOperator()))
	shared := spec()
	shared.Shared = true
	unowned, err := w.Start(t.Context(), AsOperator(), shared, func(Row) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	w.end(unowned)
	w.Settle(third.Row, Outcome{Status: Failed})
	if diff := cmp.Diff([]string{"bash-2", "bash-1", "bash-3"}, ids(w.Inbox(h))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Handle{h, h, h}, w.rung()); diff != "" {
		t.Errorf("bells: %s", diff)
	}
	if w.Inbox(OperatorHandle) != nil || w.Inbox(Nobody) != nil || w.Inbox("o-99") != nil {
		t.Error("an inbox that should not be")
	}
	for _, bad := range []Handle{OperatorHandle, Nobody, "o-99"} {
		if _, err := w.Claim(bad, ClaimUser, true, ClaimRules{Served: true}, w.host); err == nil {
			t.Errorf("Claim(%q) worked", bad)
		}
	}
	if _, err := w.Claim(h, "because", true, ClaimRules{Served: true}, w.host); !errors.Is(err, ErrInvalid) {
		t.Errorf("an odd reason: %v", err)
	}
}

// TestClaimReasons pins T162 to T164 and T166 as decision 6 has them.
func TestClaimReasons(t *testing.T) {
	open := ClaimRules{Served: true, MaxWakes: 1}
	for _, k := range []struct {
		name    string
		reason  string
		take    bool
		rules   ClaimRules
		spent   int64
		refused string
		tasks   int
		after   int64 // spent
	}{
		{"wake", ClaimWake, true, open, 0, "", 2, 1},
		{"wake, spent", ClaimWake, true, open, 1, RefusedBudget, 0, 1},
		{"wake, quiet", ClaimWake, true, ClaimRules{Served: true, Quiet: true, MaxWakes: 1}, 0, RefusedQuiet, 0, 0},
		{"wake, unserved", ClaimWake, true, ClaimRules{}, 0, RefusedEmpty, 0, 0},
		{"wake, look", ClaimWake, false, open, 0, "", 0, 0},
		{"turn end", ClaimTurnEnd, true, open, 1, "", 2, 1},
		{"turn end, quiet", ClaimTurnEnd, true, ClaimRules{Served: true, Quiet: true}, 1, "", 2, 1},
		{"user", ClaimUser, true, open, 1, "", 2, 0},
		{"user, take false", ClaimUser, false, open, 1, "", 0, 0},
		{"user, unserved", ClaimUser, true, ClaimRules{}, 1, RefusedEmpty, 0, 0},
	} {
		t.Run(k.name, func(t *testing.T) {
			w := newWorld(t)
			h := w.owner("s")
			for range k.spent {
				w.ended(h, 1)
				if err := w.Ack(h, w.claim(h, ClaimWake).Lease); err != nil {
					t.Fatal(err)
				}
			}
			w.ended(h, 2)
			c, err := w.Claim(h, k.reason, k.take, k.rules, w.host)
			o, _ := w.Owner(h)
			if err != nil || c.Refused != k.refused || len(c.Tasks) != k.tasks || (c.Lease != "") != (k.tasks > 0) || o.Spent != k.after {
				t.Errorf("Claim = %+v, %v; spent %d", c, err, o.Spent)
			}
			if want := 2 - k.tasks; len(w.Inbox(h)) != want {
				t.Errorf("%d notices left, want %d", len(w.Inbox(h)), want)
			}
		})
	}
	w := newWorld(t)
	if c := w.claim(w.owner("s"), ClaimUser); c.Refused != RefusedEmpty {
		t.Errorf("nothing there: %+v", c)
	}
}

// TestBudgetKept: what was spent stays spent over a restart and a return of
// the host; only the user restores it (T164).
func TestBudgetKept(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	w.ended(h, 1)
	w.claim(h, ClaimWake)
	w.HostGone(w.host)
	w.restart()
	w.owner("s")
	o, _ := w.Owner(h)
	if o.Spent != 1 || len(o.Wakes) != 1 || o.Wakes[0].Tasks[0] != "bash-1" {
		t.Errorf("%+v", o)
	}
}

// TestAwaitInbox: waits without polling, ends at the deadline with an empty
// list, and can be given up.
func TestAwaitInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		type answer struct {
			tasks []Task
			err   error
		}
		await := func(ctx context.Context) chan answer {
			c := make(chan answer, 1)
			go func() { tasks, err := w.AwaitInbox(ctx, h); c <- answer{tasks, err} }()
			synctest.Wait()
			return c
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a := <-await(short); a.err != nil || len(a.tasks) != 0 {
			t.Errorf("deadline: %+v", a)
		}
		gone, cancelled := context.WithCancel(t.Context())
		c := await(gone)
		cancelled()
		if a := <-c; !errors.Is(a.err, ErrWaitAborted) {
			t.Errorf("given up: %+v", a)
		}
		c = await(t.Context())
		w.AbortWaits(h)
		if a := <-c; !errors.Is(a.err, ErrWaitAborted) {
			t.Errorf("owner/abort: %+v", a)
		}
		c = await(t.Context())
		w.ended(h, 1)
		if a := <-c; a.err != nil || len(a.tasks) != 1 {
			t.Errorf("a notice: %+v", a)
		}
		if a := <-await(t.Context()); len(a.tasks) != 1 {
			t.Errorf("a look takes nothing: %+v", a)
		}
		w.claim(h, ClaimUser)
		c = await(t.Context())
		if _, err := w.Dispose(t.Context(), h, ""); err != nil {
			t.Fatal(err)
		}
		if a := <-c; a.err == nil {
			t.Errorf("disposed: %+v", a)
		}
	})
}

// TestWakesKept: only the newest few wakes are kept for status.
func TestWakesKept(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	for range 12 {
		w.ended(h, 1)
		if _, err := w.Claim(h, ClaimWake, true, ClaimRules{Served: true, MaxWakes: 100}, w.host); err != nil {
			t.Fatal(err)
		}
	}
	o, _ := w.Owner(h)
	if len(o.Wakes) != keptWakes || o.Wakes[keptWakes-1].Tasks[0] != "bash-12" {
		t.Errorf("%+v", o.Wakes)
	}
}
