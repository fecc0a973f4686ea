package registry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDispose pins T69, T70, T72 to T74, T76 and T78.
func TestDispose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h, other := w.owner("s"), w.owner("other")
		c := AsOwner(h)
		foreign := w.start(AsOwner(other))
		live, stopped, ended := w.start(c), w.start(c), w.start(c)
		if _, _, err := w.Kill(t.Context(), AsOperator(), stopped.ID, nil); err != nil {
			t.Fatal(err)
		}
		w.fake.of(ended.Row).leftovers = 1
		w.end(ended)
		w.rung()
		var heard []string
		w.OnDone("/", func(t Task) { heard = append(heard, "done "+t.ID); checkReported(w.t, t) })
		w.OnChange("/", func(h Handle) {
			if tasks := w.List(AsOwner(h), false); len(tasks) > 0 {
				heard = append(heard, string(h)+" "+string(tasks[0].Status))
			} else {
				heard = append(heard, string(h)+" none")
			}
		})
		w.fake.onCancel = func(row Row) error {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			if !w.store.tasks[row].Reported {
				t.Error("the report is claimed after the cancel (T72)")
			}
			return nil
		}
		disposed := make(chan []string)
		go func() {
			cancelled, err := w.Dispose(t.Context(), h, "")
			if err != nil {
				t.Error(err)
			}
			disposed <- cancelled
		}()
		synctest.Wait()
		if got := w.get(live.ID); got.Status != Stopping || !got.Reported {
			t.Errorf("during a slow stop: %+v (T73)", got)
		}
		if _, err := w.Start(t.Context(), c, spec(), func(Row) error { return nil }); !errors.Is(err, ErrOwnerGone) {
			t.Errorf("a start while disposing: %v (T14)", err)
		}
		waited := w.waits(c, live.ID)
		synctest.Wait()
		w.Settle(live.Row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
		if got := <-waited; got.Status != Killed {
			t.Errorf("a wait in a teardown: %+v (T58)", got)
		}
		w.Settle(stopped.Row, Outcome{Status: Killed})
		if diff := cmp.Diff([]string{live.ID, stopped.ID}, <-disposed); diff != "" {
			t.Error(diff)
		}
		w.checkGone(h, live, stopped, ended)
		if diff := cmp.Diff([]string{"owner disposed"}, w.fake.cancels(live.Row)); diff != "" {
			t.Error(diff)
		}
		if len(w.fake.cancels(stopped.Row)) != 2 || len(w.fake.cancels(ended.Row)) != 0 || w.Facts(ended).Leftovers != 0 {
			t.Error("T76: a stopping task is cancelled again; of an ended one the leftovers are ended")
		}
		if got := heard[len(heard)-1]; got != string(h)+" none" || len(heard) != 7 {
			// 2 × stopping, 2 × (settled, done), 1 × gone
			t.Errorf("heard %q", heard)
		}
		if w.get(foreign.ID).Status != Running || len(w.rung()) != 0 {
			t.Error("another owner's task was touched, or somebody was rung (T70, T78)")
		}
	})
}

// waits begins a wait whose answer is delivered.
func (w *world) waits(c Caller, id string) chan Task {
	waited := make(chan Task)
	go func() {
		got, receipt, err := w.Wait(w.t.Context(), c, id, 60_000)
		receipt.Delivered()
		if err != nil {
			w.t.Error(err)
		}
		waited <- got
	}()
	return waited
}

// checkGone checks that nothing is left of a disposed owner and its tasks.
func (w *world) checkGone(h Handle, tasks ...Task) {
	t := w.t
	t.Helper()
	for _, task := range tasks {
		if _, err := w.Get(AsOperator(), task.ID); !errors.Is(err, ErrUnknownTask) || !w.fake.of(task.Row).removed {
			t.Errorf("%s is still there: %v", task.ID, err)
		}
	}
	if _, err := w.ByToken(tok("token-s")); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("its token: %v", err)
	}
	if _, err := w.Dispose(t.Context(), h, ""); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("a second disposal: %v", err)
	}
}

func checkReported(t testing.TB, task Task) {
	t.Helper()
	if !task.Reported {
		t.Errorf("%s: a teardown's settlement is not reported (T74)", task.ID)
	}
}

// TestDisposeThrows pins T75: forced failed without a stopping step, others go
// on, and nobody is woken.
func TestDisposeThrows(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	bad, good := w.start(AsOwner(h)), w.start(AsOwner(h))
	var ends []string
	w.OnDone("/", func(task Task) {
		ends = append(ends, task.ID+" "+string(task.Status)+" "+*task.Detail)
		checkReported(t, task)
	})
	sub, err := w.Subscribe(AsOperator(), "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	w.fake.onCancel = func(row Row) error {
		if row == bad.Row {
			return errors.New("no answer")
		}
		w.Settle(row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
		return nil
	}
	if _, err := w.Dispose(t.Context(), h, "bye"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bash-1 failed cancel threw during teardown; work may be orphaned: no answer",
		"bash-2 killed signal: SIGTERM",
	} {
		if !contains(ends, want) {
			t.Errorf("ends %q, want %q", ends, want)
		}
	}
	if !w.log.has("tasks: cancel of bash-1 threw during teardown; task record forced failed and work may be orphaned: no answer") {
		t.Errorf("log %q", w.log.lines)
	}
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Task.ID == bad.ID && e.Task.Status == Stopping {
			t.Error("a stopping step before the forced failure")
		}
		if e.Removed && e.Task.ID == good.ID {
			break
		}
	}
	if len(w.rung()) != 0 {
		t.Error("somebody was rung")
	}
}

func contains(list []string, want string) bool {
	for _, s := range list {
		if s == want {
			return true
		}
	}
	return false
}

// TestDisposeStalls pins the table's T77: bounded by stopGraceMs and 2 s, then
// forced failed; a caller that goes does not stop it.
func TestDisposeStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		task := w.start(AsOwner(h))
		var end Task
		w.OnDone("/", func(t Task) { end = t })
		begin := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.Dispose(ctx, h, ""); err != nil {
			t.Error(err)
		}
		if since := time.Since(begin); since != 5*time.Second {
			t.Errorf("took %v", since)
		}
		if end.Status != Failed || *end.Detail != "not ended within 5000 ms of its cancel during teardown; work may be orphaned" || !end.Reported {
			t.Errorf("%+v", end)
		}
		if !w.log.has("tasks: bash-1 not ended within 5000 ms") {
			t.Errorf("log %q", w.log.lines)
		}
		w.Settle(task.Row, Outcome{Status: Completed}) // too late for anything
	})
}

// TestDisposeMeetsStart: a start under way when the disposal begins is waited
// for and ended, too.
func TestDisposeMeetsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		w.fake.onCancel = func(row Row) error { w.Settle(row, Outcome{Status: Killed}); return nil }
		inside, proceed := make(chan struct{}), make(chan struct{})
		go func() {
			_, err := w.Start(t.Context(), AsOwner(h), spec(), func(Row) error { close(inside); <-proceed; return nil })
			if err != nil {
				t.Error(err)
			}
		}()
		<-inside
		disposed := make(chan []string, 1)
		go func() {
			cancelled, err := w.Dispose(t.Context(), h, "")
			if err != nil {
				t.Error(err)
			}
			disposed <- cancelled
		}()
		synctest.Wait()
		if len(disposed) != 0 {
			t.Error("did not wait for the start")
		}
		close(proceed)
		if diff := cmp.Diff([]string{"bash-1"}, <-disposed); diff != "" {
			t.Error(diff)
		}
		if len(w.rows) != 0 || len(w.store.tasks) != 0 || len(w.store.owners) != 0 {
			t.Errorf("left: %v, %v", w.store.tasks, w.store.owners)
		}
	})
}

// TestDisposeRefused: when the records cannot be removed the owner stays, and
// can be disposed again.
func TestDisposeRefused(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	w.end(w.start(AsOwner(h)))
	full := errors.New("no space left")
	w.store.refusing(full)
	if _, err := w.Dispose(t.Context(), h, ""); !errors.Is(err, full) {
		t.Errorf("Dispose = %v", err)
	}
	w.store.refusing(nil)
	if _, err := w.Dispose(t.Context(), h, ""); err != nil || len(w.Owners()) != 0 {
		t.Errorf("again: %v, %d owners", err, len(w.Owners()))
	}
}

// TestDisposeGivesUpOnStart: a start that takes longer than the disposal waits
// is refused in the end, and its work cancelled.
func TestDisposeGivesUpOnStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		var row Row
		_, err := w.Start(t.Context(), AsOwner(h), spec(), func(r Row) error {
			row = r
			_, err := w.Dispose(t.Context(), h, "")
			return err
		})
		if !errors.Is(err, ErrOwnerGone) || len(w.fake.cancels(row)) != 1 || w.fake.of(row).removed {
			t.Errorf("Start = %v, cancels %q", err, w.fake.cancels(row))
		}
		if len(w.store.tasks) != 0 {
			t.Errorf("left: %v", w.store.tasks)
		}
	})
}

// TestDisposeAbandonedStart: a start that outlasts its owner's disposal leaves
// nothing, whether its work ends before the start is over or after.
func TestDisposeAbandonedStart(t *testing.T) {
	for _, early := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			h := w.owner("s")
			inside, proceed, started := make(chan Row), make(chan struct{}), make(chan error)
			go func() {
				_, err := w.Start(t.Context(), AsOwner(h), spec(), func(row Row) error {
					inside <- row
					<-proceed
					return nil
				})
				started <- err
			}()
			row := <-inside
			if _, err := w.Dispose(t.Context(), h, ""); err != nil {
				t.Fatal(err)
			}
			w.fake.of(row).leftovers = 1
			if early {
				w.Settle(row, Outcome{Status: Completed})
			}
			close(proceed)
			if err := <-started; !errors.Is(err, ErrOwnerGone) {
				t.Errorf("Start = %v", err)
			}
			synctest.Wait()
			if !early {
				if w.fake.of(row).removed || len(w.fake.cancels(row)) != 1 {
					t.Errorf("removed while it runs, or not cancelled: %q", w.fake.cancels(row))
				}
				w.Settle(row, Outcome{Status: Killed})
			}
			synctest.Wait()
			if got := w.fake.of(row); !got.removed || got.leftovers != 0 {
				t.Errorf("early %v: left by the abandoned start: %+v", early, got)
			}
			w.consistent()
			if len(w.rows) != 0 {
				t.Errorf("%d rows", len(w.rows))
			}
		})
	}
}
