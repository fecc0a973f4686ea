package registry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestShutdownCancel pins T79, T80 and T81 with the table's changes: every live
// task is ended, unreported, detail "daemon stopped"; no completion listener
// runs; the next daemon has it all.
func TestShutdownCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		c := AsOwner(h)
		live, deaf, slow, ended := w.start(c), w.start(c), w.start(AsOperator()), w.start(c)
		w.fake.of(ended.Row).leftovers = 3
		w.end(ended)
		w.rung()
		done, changes := 0, 0
		w.OnDone("/", func(Task) { done++ })
		w.OnChange("/", func(Handle) { changes++ })
		w.fake.onCancel = func(row Row) error {
			switch row {
			case deaf.Row:
				return errors.New("no answer")
			case live.Row:
				w.Settle(row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
			}
			return nil
		}
		waited := make(chan error, 2)
		go func() { _, _, err := w.Wait(t.Context(), c, live.ID, 60_000); waited <- err }()
		go func() { _, err := w.AwaitToken(t.Context(), tok("none")); waited <- err }()
		synctest.Wait()
		begin := time.Now()
		w.Shutdown(t.Context(), true)
		if since := time.Since(begin); since != 5*time.Second {
			t.Errorf("took %v", since)
		}
		for range 2 {
			if err := <-waited; !errors.Is(err, ErrWaitAborted) && !errors.Is(err, ErrShuttingDown) {
				t.Errorf("a wait: %v", err)
			}
		}
		if _, err := w.Start(t.Context(), c, spec(), func(Row) error { t.Error("ran"); return nil }); !errors.Is(err, ErrShuttingDown) {
			t.Errorf("a start: %v", err)
		}
		if done != 0 || changes != 4 || len(w.rung()) != 0 { // three ends, and slow's stopping
			t.Errorf("%d completions, %d changes (T80)", done, changes)
		}
		w.restart()
		for id, want := range map[string]string{
			live.ID:  "killed daemon stopped",
			deaf.ID:  "failed cancel threw during teardown; work may be orphaned: no answer",
			slow.ID:  "failed not ended within 5000 ms of its cancel during teardown; work may be orphaned",
			ended.ID: "completed exit code: 0",
		} {
			if got := w.get(id); string(got.Status)+" "+*got.Detail != want || got.Reported {
				t.Errorf("%s: %s %s, reported %v; want %s", id, got.Status, *got.Detail, got.Reported, want)
			}
		}
		if w.Facts(ended).Leftovers != 0 || len(w.Inbox(h)) != 3 {
			t.Errorf("leftovers %d, inbox %v", w.Facts(ended).Leftovers, ids(w.Inbox(h)))
		}
	})
}

// TestRetire: an end for want of work changes nothing where a task lives, and lets
// none begin where it was right.
func TestRetire(t *testing.T) {
	w := newWorld(t)
	task := w.start(AsOperator())
	if w.Retire() {
		t.Fatal("retired with a live task")
	}
	w.end(task)
	_, err := w.Start(t.Context(), AsOperator(), spec(), func(Row) error {
		if w.Retire() {
			t.Error("retired during a start")
		}
		return errors.New("no")
	})
	if errors.Is(err, ErrShuttingDown) {
		t.Fatal(err)
	}
	if !w.Retire() {
		t.Error("not retired with nothing to do")
	}
	if _, err := w.Start(t.Context(), AsOperator(), spec(), func(Row) error { t.Error("ran"); return nil }); !errors.Is(err, ErrShuttingDown) {
		t.Errorf("a start: %v", err)
	}
}

// TestShutdownTellsTheOperator: a wait of the person's is answered with the end
// that the shutdown makes, also one that begins in the middle of it: there is
// nobody else to ask. One whose task goes on is aborted.
func TestShutdownTellsTheOperator(t *testing.T) {
	for _, cancel := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			task := w.start(AsOwner(w.owner("s")))
			ends := make(chan error, 2)
			wait := func() {
				ended, _, err := w.Wait(t.Context(), AsOperator(), task.ID, 60_000)
				if err == nil && (ended.Status != Killed || *ended.Detail != "daemon stopped") {
					t.Errorf("told %s %v", ended.Status, *ended.Detail)
				}
				ends <- err
			}
			w.fake.onCancel = func(row Row) error {
				go wait()
				synctest.Wait() // it waits by now, or has been refused
				w.Settle(row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
				return nil
			}
			go wait()
			synctest.Wait()
			w.Shutdown(t.Context(), cancel)
			if !cancel {
				go wait()
			}
			for range 2 {
				if err := <-ends; cancel != (err == nil) || !cancel && !errors.Is(err, ErrWaitAborted) {
					t.Errorf("cancel %v: %v", cancel, err)
				}
			}
			w.restart()
			if got := w.get(task.ID); got.Reported {
				t.Error("the person's wait took the notice from the owner")
			}
		})
	}
}

// TestShutdownKeep: live tasks are left to the next daemon, waits are aborted,
// a second call does nothing.
func TestShutdownKeep(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	task := w.start(c)
	_, _, receipt, err := w.Read(t.Context(), c, task.ID, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	inside, proceed, started := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		_, err := w.Start(t.Context(), c, spec(), func(Row) error { close(inside); <-proceed; return nil })
		started <- err
	}()
	<-inside
	down := make(chan struct{})
	go func() { defer close(down); w.Shutdown(t.Context(), false) }()
	close(proceed)
	if err := <-started; err != nil {
		t.Errorf("a start under way: %v", err)
	}
	<-down
	w.Shutdown(t.Context(), true)
	w.close()
	w.Settle(task.Row, Outcome{Status: Completed}) // after the end: the next daemon finds out itself
	w.Changed(task.Row)
	receipt.Delivered()
	w.HostGone(w.host)
	if w.log.has("level=ERROR") {
		t.Errorf("what comes after the end is logged as an error: %q", w.log.lines)
	}
	w.open()
	if got := w.List(c, false); len(got) != 2 || got[0].Status != Running || len(w.fake.cancels(task.Row)) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestShutdownFlushes: what is on its way when the end begins becomes final
// before the store is closed (decision 10): no output comes twice, no report is
// lost, and an end is the one that was seen. A connection that we end is no
// lost host.
func TestShutdownFlushes(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	live, ended, late := w.start(c), w.start(c), w.start(c)
	w.fake.write(live.Row, "once\n")
	w.end(ended)
	_, _, reading, err := w.Read(t.Context(), c, live.ID, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	_, waited, err := w.Wait(t.Context(), c, ended.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, operators := make(chan error, 1), make(chan error, 1)
	go func() { _, _, _, err := w.Read(t.Context(), c, live.ID, nil, false); again <- err }()
	_, _, open, err := w.Read(t.Context(), AsOperator(), live.ID, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _, _, err := w.Read(t.Context(), AsOperator(), live.ID, nil, false); operators <- err }()
	w.Shutdown(t.Context(), false)
	for _, err := range []error{<-again, <-operators} { // they do not hold the end up
		if !errors.Is(err, ErrWaitAborted) && !errors.Is(err, ErrShuttingDown) {
			t.Errorf("a read behind one whose receipt is open: %v", err)
		}
	}
	reading.Delivered()
	waited.Delivered()
	open.Failed()
	w.Settle(late.Row, Outcome{Status: Failed, Detail: text("seen")})
	w.HostGone(w.host)
	w.restart()
	if text, _ := w.read(c, live.ID); text != "" {
		t.Errorf("read again after the restart: %q", text)
	}
	if got := w.get(ended.ID); !got.Reported {
		t.Errorf("the report is lost: %+v", got)
	}
	if got := w.get(late.ID); got.Status != Failed || *got.Detail != "seen" {
		t.Errorf("an end between: %+v", got)
	}
}
