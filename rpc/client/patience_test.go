package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A daemon that says that it serves and does not answer is given up soon, by its
// number; one that is about to start has time to recover its tasks.
func TestPatience(t *testing.T) {
	serves := Holder{PID: 7, Socket: "s", Serves: true}
	starts := Holder{PID: 7, Socket: "s"}
	for name, c := range map[string]struct {
		looks []Holder // the last one goes on; a pid of 0: nobody has the lock
		after time.Duration
		pid   int
	}{
		"it hangs":                  {[]Holder{serves}, 2 * lookEvery, 7},
		"it starts, and hangs then": {[]Holder{{}, starts, starts, starts, serves}, 6 * lookEvery, 7},
		"it never serves":           {[]Holder{starts}, answerTime, 0},
		"there is nobody yet":       {[]Holder{{}}, answerTime, 0},
		"it restarts all the time":  {[]Holder{serves, starts, serves, starts}, answerTime, 0},
		"that is another one":       {[]Holder{{PID: 7, Socket: "another", Serves: true}}, answerTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, looks := time.Now(), c.looks
				ctx, end := patience(t.Context(), "s", func() (Holder, bool) {
					now := looks[0]
					if len(looks) > 1 {
						looks = looks[1:]
					}
					return now, now.PID != 0
				})
				defer end()
				<-ctx.Done()
				deaf := &DeafError{}
				if !errors.As(context.Cause(ctx), &deaf) || deaf.PID != c.pid || time.Since(began) != c.after {
					t.Errorf("%v after %v, want pid %d after %v", context.Cause(ctx), time.Since(began), c.pid, c.after)
				}
			})
		})
	}
}

// An answer, and a caller that gives up, end the wait and its goroutine at once.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := patience(t.Context(), "s", func() (Holder, bool) { return Holder{}, false })
		end()
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			t.Errorf("cause %v", cause)
		}
	})
}
