package registry

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidetask/scope"
)

// next reads n events as lines.
func next(t testing.TB, s *Subscription, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lines []string
	for range n {
		e, err := s.Next(ctx)
		if err != nil {
			t.Fatalf("after %q: %v", lines, err)
		}
		line := fmt.Sprintf("%d %s %s", e.Seq, e.Task.ID, e.Task.Status)
		if e.Removed {
			line = fmt.Sprintf("%d %s removed", e.Seq, e.Task.ID)
		}
		lines = append(lines, line)
	}
	return lines
}

func (w *world) subscribe(c Caller, at scope.Path, since int64) *Subscription {
	w.t.Helper()
	p := &since
	if since < 0 {
		p = nil
	}
	s, err := w.Subscribe(c, at, p)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(s.Close)
	return s
}

// TestSubscribe pins decision 8 and the observer's side of B3: the state now,
// then every change once; since replays what was missed, also over a restart.
func TestSubscribe(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	first := w.start(c)
	s := w.subscribe(AsOperator(), "/", -1)
	if s.Seq != 1 || len(s.Tasks) != 1 || s.Reset {
		t.Errorf("%+v", s)
	}
	w.read(c, first.ID)
	_, _, _ = w.Kill(t.Context(), c, first.ID, nil)
	w.end(first)
	w.start(c)
	all := []string{"2 bash-1 stopping", "3 bash-1 completed", "4 bash-2 running"}
	if diff := cmp.Diff(all, next(t, s, 3)); diff != "" {
		t.Error(diff)
	}
	late := w.subscribe(AsOperator(), "/", 1)
	if late.Tasks != nil || late.Reset || late.Seq != 1 {
		t.Errorf("%+v", late)
	}
	if diff := cmp.Diff(all, next(t, late, 3)); diff != "" {
		t.Error(diff)
	}
	w.restart()
	if diff := cmp.Diff(all[1:], next(t, w.subscribe(AsOperator(), "/", 2), 2)); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
	w.fake.onCancel = func(row Row) error { w.Settle(row, Outcome{Status: Killed}); return nil }
	if _, err := w.Dispose(t.Context(), h, ""); err != nil {
		t.Fatal(err)
	}
	last := []string{"5 bash-2 killed", "6 bash-1 removed", "7 bash-2 removed"}
	if diff := cmp.Diff(append(all, last...), next(t, w.subscribe(AsOperator(), "/", 1), 6)); diff != "" {
		t.Errorf("what went just now is still told in full: %s", diff)
	}
	w.restart()
	if diff := cmp.Diff(last[1:], next(t, w.subscribe(AsOperator(), "/", 0), 2)); diff != "" {
		t.Errorf("of what went long ago only the removal: %s", diff)
	}
	if ahead := w.subscribe(AsOperator(), "/", 99); !ahead.Reset || ahead.Seq != 7 || ahead.Tasks == nil {
		t.Errorf("since a number that never was: %+v", ahead)
	}
}

// TestSubscribeReplay: what is replayed of a task tells nothing of its future:
// no exit code, signal or report before the status they belong to.
func TestSubscribeReplay(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	task := w.start(c)
	if _, _, err := w.Kill(t.Context(), c, task.ID, nil); err != nil {
		t.Fatal(err)
	}
	s := w.subscribe(AsOperator(), "/", 0)
	code := 143
	w.Settle(task.Row, Outcome{Status: Killed, ExitCode: &code, Signal: "SIGTERM", TimedOut: true})
	for _, want := range []Task{
		{Status: Running},
		{Status: Stopping},
		{Status: Killed, ExitCode: &code, Signal: "SIGTERM", TimedOut: true, Reported: true},
	} {
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := Task{Status: e.Task.Status, ExitCode: e.Task.ExitCode, Signal: e.Task.Signal, TimedOut: e.Task.TimedOut, Reported: e.Task.Reported}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestSubscribeScope: observers hear only what lies at or below their scope,
// owners only what they may see.
func TestSubscribeScope(t *testing.T) {
	w := newWorld(t)
	below := w.register(Registration{Token: tok("t1"), Session: "1", Scope: "/a/b"}, w.host)
	beside := w.register(Registration{Token: tok("t2"), Session: "2", Scope: "/ab"}, w.host)
	at, own, root := w.subscribe(AsOperator(), "/a", -1), w.subscribe(AsOwner(beside), "/", -1), w.subscribe(AsOperator(), "/", -1)
	w.start(AsOwner(beside))
	w.start(AsOwner(below))
	shared := spec()
	shared.Shared = true
	if _, err := w.Start(t.Context(), AsOperator(), shared, func(Row) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2 bash-2 running"}, next(t, at, 1)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 bash-1 running", "3 bash-3 running"}, next(t, own, 2)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1 bash-1 running", "2 bash-2 running", "3 bash-3 running"}, next(t, root, 3)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bash-2"}, ids(w.subscribe(AsOperator(), "/a", -1).Tasks)); diff != "" {
		t.Error(diff)
	}
}

// TestSubscribeBounded: the log keeps 100 000 changes; who is further behind
// starts anew, and is told so.
func TestSubscribeBounded(t *testing.T) {
	w := newWorld(t)
	task := w.start(AsOwner(w.owner("s")))
	slow := w.subscribe(AsOperator(), "/", -1)
	for range keptLog + trimStep + 10 {
		w.Changed(task.Row)
	}
	if n := len(w.changes.entries); n < keptLog || n > keptLog+trimStep || n != len(w.store.state.Log) {
		t.Errorf("%d entries kept, %d stored", n, len(w.store.state.Log))
	}
	if _, err := slow.Next(t.Context()); !errors.Is(err, ErrLagged) {
		t.Errorf("a slow subscriber: %v", err)
	}
	if s := w.subscribe(AsOperator(), "/", 1); !s.Reset || len(s.Tasks) != 1 {
		t.Errorf("since 1: reset %v, %d tasks", s.Reset, len(s.Tasks))
	}
	first := w.changes.first()
	if s := w.subscribe(AsOperator(), "/", first-1); s.Reset || next(t, s, 1)[0] != fmt.Sprintf("%d bash-1 running", first) {
		t.Error("the oldest kept entry cannot be had")
	}
	w.restart()
	if w.changes.first() != first {
		t.Errorf("after a restart the log begins at %d, not %d", w.changes.first(), first)
	}
}

// TestSubscribeEnds: Close, a context and Shutdown end a waiting Next.
func TestSubscribeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ends := make(chan error)
		wait := func(ctx context.Context, s *Subscription) {
			go func() { _, err := s.Next(ctx); ends <- err }()
			synctest.Wait()
		}
		s := w.subscribe(AsOperator(), "/", -1)
		wait(t.Context(), s)
		s.Close()
		s.Close()
		if err := <-ends; !errors.Is(err, ErrWaitAborted) {
			t.Errorf("closed: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		wait(ctx, w.subscribe(AsOperator(), "/", -1))
		cancel()
		if err := <-ends; !errors.Is(err, ErrWaitAborted) {
			t.Errorf("context: %v", err)
		}
		wait(t.Context(), w.subscribe(AsOperator(), "/", -1))
		w.Shutdown(t.Context(), false)
		if err := <-ends; !errors.Is(err, ErrWaitAborted) {
			t.Errorf("shut down: %v", err)
		}
		if _, err := w.Subscribe(AsOperator(), "/", nil); !errors.Is(err, ErrShuttingDown) {
			t.Errorf("after the end: %v", err)
		}
	})
}
