package registry

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// maxWait is the longest wait for a live task, in milliseconds (T46).
const maxWait = 2147483647

// errWaitTimeout tells the end of our own time from every other (T57).
var errWaitTimeout = errors.New("wait timed out")

// waiter is one wait under way. It has its caller's context because it is
// that call: a settlement must see at once whether the caller gave up (T53).
type waiter struct {
	ctx     context.Context // the caller's
	release func()          // ends the wait
	by      *owner          // nil: the operator
	aborted bool            // by AbortWaits or Shutdown
	result  *Task           // of the settlement that released it
}

// waitingLocked are the waits that a settlement now would answer.
func (rec *record) waitingLocked() []*waiter {
	return slices.DeleteFunc(slices.Clone(rec.waiters), func(w *waiter) bool { return w.aborted || w.ctx.Err() != nil })
}

// reporters counts the waits whose answer tells the owner.
func reporters(waiters []*waiter) int {
	n := 0
	for _, w := range waiters {
		if w.by != nil {
			n++
		}
	}
	return n
}

// ParseWait reads the time of a wait, in milliseconds, from the JSON that was
// given (T45). live says that what is waited for is known not to be there yet;
// for a task [Registry.CheckWait] finds that out (T46).
func ParseWait(raw json.RawMessage, live bool) (float64, error) {
	ms, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err == nil:
		return ms, checkWait(ms, live)
	case errors.Is(err, strconv.ErrRange) || len(raw) == 0:
		return 0, waitValueError("null")
	}
	return 0, waitValueError(string(raw))
}

func checkWait(ms float64, live bool) error {
	switch {
	case !(ms > 0) || math.IsInf(ms, 0):
		return waitValueError(jsonNumber(ms))
	case live && ms > maxWait:
		return Errorf(KindInvalid, "deadline timeoutMs must be a positive finite number no greater than %d", maxWait)
	}
	return nil
}

func waitValueError(got string) error {
	return Errorf(KindInvalid, "invalid wait timeout: expected a positive number of milliseconds, got %s", got)
}

// CheckWait makes the checks of a wait in the order of T44 and does not wait.
func (r *Registry) CheckWait(c Caller, id string, ms float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.checkWaitLocked(c, id, ms)
	return err
}

func (r *Registry) checkWaitLocked(c Caller, id string, ms float64) (*record, error) {
	rec, err := r.findLocked(c, id)
	if err == nil {
		err = checkWait(ms, !rec.Status.Terminal())
	}
	return rec, err
}

// Wait waits for the end of a task, at most ms milliseconds; when these are
// over it gives the live snapshot (T44 to T58). Cancelling ctx or AbortWaits
// end it with [ErrWaitAborted]. The receipt is not nil where an owner learned
// of the end.
func (r *Registry) Wait(ctx context.Context, c Caller, id string, ms float64) (Task, *Receipt, error) {
	return r.wait(ctx, c, id, ms, func(ctx context.Context, _ *record) error {
		<-ctx.Done()
		return nil
	})
}

// WaitMatch is a wait that also ends, with the live snapshot, when output
// from the caller's cursor on matches.
func (r *Registry) WaitMatch(ctx context.Context, c Caller, id string, ms float64, until *regexp.Regexp) (Task, *Receipt, error) {
	return r.wait(ctx, c, id, ms, func(ctx context.Context, rec *record) error {
		p, from := r.unread(ctx, rec, c)
		err := p.Match(ctx, rec.row, from, until)
		if ctx.Err() != nil {
			return nil
		}
		return err
	})
}

// unread says where the caller's unread output begins. While the receipt of
// its read before is open that is not known yet: the answer may be there
// already, and what it held must not match again.
func (r *Registry) unread(ctx context.Context, rec *record, c Caller) (Producer, int64) {
	for {
		r.mu.Lock()
		busy, p, from := rec.readers[readerOf(c)], r.producerLocked(rec.Producer), rec.cursorLocked(c)
		r.mu.Unlock()
		if busy == nil || ctx.Err() != nil {
			return p, from
		}
		select {
		case <-busy:
		case <-ctx.Done():
		}
	}
}

// wait runs one wait in the caller's goroutine; event returns when ctx ends or
// when there is something to see.
func (r *Registry) wait(ctx context.Context, c Caller, id string, ms float64, event func(context.Context, *record) error) (Task, *Receipt, error) {
	r.mu.Lock()
	rec, err := r.checkWaitLocked(c, id, ms)
	if err != nil {
		r.mu.Unlock()
		return Task{}, nil, err
	}
	if rec.Status.Terminal() {
		defer r.mu.Unlock()
		return r.answerEndLocked(rec, c)
	}
	if ctx.Err() != nil || r.abortsLocked(c) { // T48
		r.mu.Unlock()
		return Task{}, nil, ErrWaitAborted
	}
	limited, release := context.WithTimeoutCause(ctx, time.Duration(ms*float64(time.Millisecond)), errWaitTimeout)
	defer release()
	w := &waiter{ctx: ctx, release: release}
	if h, agent := c.Owner(); agent {
		w.by, _ = r.ownerLocked(h) // one that is gone sees unowned tasks alone, and reports to nobody
	}
	r.enterLocked(rec, w)
	r.mu.Unlock()

	err = event(limited, rec)

	r.mu.Lock()
	defer r.unlock()
	r.leaveLocked(rec, w)
	switch {
	case w.result != nil: // T54, and a time-out in the same instant
		var receipt *Receipt
		if w.by != nil {
			receipt = r.reportReceipt(rec)
		}
		return *w.result, receipt, nil
	case w.aborted || context.Cause(limited) != nil && !errors.Is(context.Cause(limited), errWaitTimeout):
		return Task{}, nil, ErrWaitAborted
	case err != nil:
		return Task{}, nil, producerFailed(err)
	}
	return rec.snapshotLocked(), nil, nil // T50
}

// abortsLocked reports whether a wait for a live task is aborted at once, since
// we end and its caller will not be told here of the task's end.
func (r *Registry) abortsLocked(c Caller) bool {
	_, agent := c.Owner()
	return r.phase != open && (agent || !r.tells || r.phase != stopping)
}

// answerEndLocked answers with an end that is there (T47).
func (r *Registry) answerEndLocked(rec *record, c Caller) (Task, *Receipt, error) {
	if _, agent := c.Owner(); !agent {
		return rec.snapshotLocked(), nil, nil
	}
	r.claimLocked(rec)
	return rec.snapshotLocked(), r.reportReceipt(rec), nil
}

func (r *Registry) enterLocked(rec *record, w *waiter) {
	rec.waiters = append(rec.waiters, w)
	if w.by != nil {
		w.by.waits[w] = true
	}
}

// leaveLocked leaves nothing of a wait behind (T52).
func (r *Registry) leaveLocked(rec *record, w *waiter) {
	if i := slices.Index(rec.waiters, w); i >= 0 {
		rec.waiters = slices.Delete(rec.waiters, i, i+1)
	}
	if w.by != nil {
		delete(w.by.waits, w)
	}
}

// abortLocked ends a wait unless a settlement has.
func (w *waiter) abortLocked() {
	if w.result == nil {
		w.aborted = true
		w.release()
	}
}

// AbortWaits ends all waits that were made as that owner, with [ErrWaitAborted].
func (r *Registry) AbortWaits(h Handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, err := r.ownerLocked(h)
	if err != nil {
		return
	}
	r.abortOwnerLocked(o)
}

func (r *Registry) abortOwnerLocked(o *owner) {
	for w := range o.waits {
		w.abortLocked()
	}
	for _, aborted := range o.aborts {
		close(aborted)
	}
	o.aborts = nil
}
