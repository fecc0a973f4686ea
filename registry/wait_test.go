package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"testing"
	"testing/synctest"
	"time"
)

// TestWaitOrder pins T44 to T47.
func TestWaitOrder(t *testing.T) {
	w := newWorld(t)
	c, foreign := AsOwner(w.owner("s")), AsOwner(w.owner("s2"))
	task := w.start(c)
	value := "invalid wait timeout: expected a positive number of milliseconds, got "
	for _, k := range []struct {
		c       Caller
		id      string
		ms      float64
		kind    *Error
		message string
	}{
		{foreign, "bash-99", -1, ErrUnknownTask, "unknown task bash-99"},
		{foreign, task.ID, -1, ErrForeignTask, "task bash-1 belongs to another session"},
		{c, task.ID, -1, ErrInvalid, value + "-1"},
		{c, task.ID, 0, ErrInvalid, value + "0"},
		{c, task.ID, math.NaN(), ErrInvalid, value + "null"},
		{c, task.ID, math.Inf(1), ErrInvalid, value + "null"},
		{c, task.ID, maxWait + 1, ErrInvalid, "deadline timeoutMs must be a positive finite number no greater than 2147483647"},
	} {
		_, _, err := w.Wait(t.Context(), k.c, k.id, k.ms)
		wantMessage(t, err, k.kind, k.message)
		wantMessage(t, w.CheckWait(k.c, k.id, k.ms), k.kind, k.message)
	}
	w.end(task)
	aborted, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := w.Wait(aborted, c, task.ID, -2.5)
	wantMessage(t, err, ErrInvalid, value+"-2.5") // T45: checked for a terminal task too
	got, receipt, err := w.Wait(aborted, c, task.ID, 1e12)
	if err != nil || got.Status != Completed || !got.Reported || receipt == nil {
		t.Errorf("a wait for an ended task = %+v, %v; want the end at once (T46, T47)", got, err)
	}
	receipt.Delivered()
	if !w.rows[task.Row].Reported {
		t.Error("delivered, but not reported for good")
	}
}

// TestWaitOutcomes pins T48 to T52, T55 and T56.
func TestWaitOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		c := AsOwner(h)
		task := w.start(c)
		nothingLeft := func() {
			t.Helper()
			if rec := w.rows[task.Row]; len(rec.waiters) != 0 || len(w.owners[h].waits) != 0 {
				t.Errorf("%d waiters left (T52)", len(rec.waiters))
			}
		}
		aborted, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := w.Wait(aborted, c, task.ID, 100); !errors.Is(err, ErrWaitAborted) || err.Error() != "wait aborted" {
			t.Errorf("pre-aborted: %v (T48)", err)
		}
		begin := time.Now()
		got, receipt, err := w.Wait(t.Context(), c, task.ID, 0.5)
		if err != nil || got.Status != Running || got.Reported || receipt != nil || time.Since(begin) != 500*time.Microsecond {
			t.Errorf("time-out: %+v, %v after %v (T50)", got, err, time.Since(begin))
		}
		nothingLeft()

		ctx, stop := context.WithTimeout(t.Context(), time.Second) // an outer deadline is an abort (T57)
		defer stop()
		if _, _, err := w.Wait(ctx, c, task.ID, 5000); !errors.Is(err, ErrWaitAborted) {
			t.Errorf("outer deadline: %v (T57)", err)
		}
		nothingLeft()

		results := make(chan error, 3)
		for range 3 {
			go func() {
				got, receipt, err := w.Wait(t.Context(), c, task.ID, 60_000)
				defer receipt.Delivered()
				if err == nil && (got.Status != Completed || !got.Reported) {
					err = fmt.Errorf("got %+v", got)
				}
				results <- err
			}()
		}
		synctest.Wait()
		var heard Task
		w.OnDone("/", func(t Task) { heard = t })
		w.end(task)
		for range 3 {
			if err := <-results; err != nil {
				t.Error("T49, T56:", err)
			}
		}
		synctest.Wait()
		if !heard.Reported || len(w.rung()) != 0 {
			t.Errorf("with a live waiter the listener sees reported %v (T61)", heard.Reported)
		}
		nothingLeft()
		if w.get(task.ID).Reported != true || len(w.Inbox(h)) != 0 {
			t.Error("not reported after delivery")
		}
	})
}

// TestWaitRaces pins T53, T54 and the instant of the deadline.
func TestWaitRaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		c := AsOwner(h)
		type answer struct {
			task Task
			err  error
		}
		wait := func(ctx context.Context, task Task, ms float64) chan answer {
			answers := make(chan answer, 1)
			go func() {
				got, receipt, err := w.Wait(ctx, c, task.ID, ms)
				receipt.Delivered()
				answers <- answer{got, err}
			}()
			synctest.Wait()
			return answers
		}

		first := w.start(c)
		ctx, cancel := context.WithCancel(t.Context())
		answers := wait(ctx, first, 1000)
		cancel()
		w.end(first) // before the waiter's goroutine could run
		if a := <-answers; !errors.Is(a.err, ErrWaitAborted) {
			t.Errorf("abort first: %+v (T53)", a)
		}
		if len(w.Inbox(h)) != 1 || w.get(first.ID).Reported {
			t.Error("abort first: the notice is not due (T53)")
		}

		second := w.start(c)
		ctx, cancel = context.WithCancel(t.Context())
		answers = wait(ctx, second, 1000)
		w.OnDone("/", func(Task) { cancel() })
		w.end(second)
		if a := <-answers; a.err != nil || a.task.Status != Completed {
			t.Errorf("settlement first: %+v (T54)", a)
		}

		third := w.start(c)
		answers = wait(t.Context(), third, 1000)
		w.Registry.mu.Lock()
		time.Sleep(1000 * time.Millisecond) // the deadline has passed, the waiter cannot see it yet
		w.settleLocked(w.rows[third.Row], Outcome{Status: Completed})
		w.unlock()
		if a := <-answers; a.err != nil || a.task.Status != Completed || !a.task.Reported {
			t.Errorf("in the instant of the deadline: %+v", a)
		}

		fourth := w.start(c)
		answers = wait(t.Context(), fourth, 1000)
		w.AbortWaits(h)
		w.end(fourth)
		if a := <-answers; !errors.Is(a.err, ErrWaitAborted) {
			t.Errorf("owner/abort: %+v", a)
		}
		if w.get(fourth.ID).Reported {
			t.Error("owner/abort: the notice is gone (T184)")
		}
	})
}

// TestWaitUndelivered: a wait whose answer could not be delivered leaves the
// notice due, and rings; listeners run once only (T67).
func TestWaitUndelivered(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	task := w.start(AsOwner(h))
	rounds := 0
	w.OnDone("/", func(Task) { rounds++ })
	w.end(task)
	w.rung()
	_, receipt, err := w.Wait(t.Context(), AsOwner(h), task.ID, 1)
	if err != nil || len(w.Inbox(h)) != 0 || w.claim(h, ClaimUser).Refused != RefusedEmpty {
		t.Errorf("%v; a notice whose report is on its way is in no claim", err)
	}
	receipt.Failed()
	receipt.Delivered() // too late
	if len(w.Inbox(h)) != 1 || len(w.rung()) != 1 || rounds != 1 {
		t.Errorf("after a failure: %d notices, %d rounds", len(w.Inbox(h)), rounds)
	}
}

// TestWaitOperator: the operator's wait reports nothing.
func TestWaitOperator(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	task := w.start(AsOwner(h))
	w.end(task)
	got, receipt, err := w.Wait(t.Context(), AsOperator(), task.ID, 1)
	if err != nil || got.Reported || receipt != nil || len(w.Inbox(h)) != 1 {
		t.Errorf("Wait = %+v, %v, %v", got, receipt, err)
	}
}

func TestWaitMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := AsOwner(w.owner("s"))
		task := w.start(c)
		until := regexp.MustCompile("ready")
		got := make(chan Task, 1)
		go func() {
			task, _, err := w.WaitMatch(t.Context(), c, task.ID, 60_000, until)
			if err != nil {
				t.Error(err)
			}
			got <- task
		}()
		synctest.Wait()
		w.fake.write(task.Row, "not yet\n")
		synctest.Wait()
		if len(got) != 0 {
			t.Error("ended without a match")
		}
		w.fake.write(task.Row, "ready\n")
		if task := <-got; task.Status != Running {
			t.Errorf("matched: %+v", task)
		}
		begin := time.Now()
		if task, _, err := w.WaitMatch(t.Context(), c, task.ID, 1000, regexp.MustCompile("never")); err != nil || task.Status != Running || time.Since(begin) != time.Second {
			t.Errorf("no match: %+v, %v after %v", task, err, time.Since(begin))
		}
		go w.end(task)
		if task, receipt, err := w.WaitMatch(t.Context(), c, task.ID, 1000, regexp.MustCompile("never")); err != nil || task.Status != Completed || receipt == nil {
			t.Errorf("ended: %+v, %v", task, err)
		}
	})
}

// TestWaitMatchAfterRead: a wait whose caller's read is still on its way does
// not match what that read gave.
func TestWaitMatchAfterRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := AsOwner(w.owner("s"))
		task := w.start(c)
		w.fake.write(task.Row, "ready\n")
		_, _, receipt, err := w.Read(t.Context(), c, task.ID, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan Task, 1)
		go func() {
			task, _, err := w.WaitMatch(t.Context(), c, task.ID, 60_000, regexp.MustCompile("ready"))
			if err != nil {
				t.Error(err)
			}
			got <- task
		}()
		synctest.Wait()
		receipt.Delivered()
		synctest.Wait()
		if len(got) != 0 {
			t.Error("matched what had been read")
		}
		w.fake.write(task.Row, "ready again\n")
		<-got

		_, _, receipt, err = w.Read(t.Context(), c, task.ID, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now() // the time-out counts while the receipt is open, too
		if _, _, err := w.WaitMatch(t.Context(), c, task.ID, 1000, regexp.MustCompile("ready")); err != nil || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		receipt.Failed()
	})
}
