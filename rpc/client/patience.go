package client

import (
	"context"
	"fmt"
	"time"

	"sidetask/paths"
)

// How long the daemon may take for initialize. One that serves answers within a
// millisecond, and at a load of 26 on two processors within a third of a second
// (the longest of 606): if it says at two looks in a row that it serves, and has
// not answered, it hangs. One that is about to start (a service for this client's
// sake, or a successor in a restart) has its tasks to recover first.
const (
	answerTime = 30 * time.Second
	lookEvery  = 2 * time.Second
	deafLooks  = 2
)

// DeafError says that the daemon is there and does not answer.
type DeafError struct {
	Socket string
	PID    int // 0 where it is not known
}

// Error says who does not answer.
func (e *DeafError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("the daemon at %s does not answer", e.Socket)
	}
	return fmt.Sprintf("the daemon at %s (pid %d) does not answer", e.Socket, e.PID)
}

// Hint is the line that says what to do.
func (e *DeafError) Hint() string {
	if e.PID == 0 {
		return "`sidetask doctor` looks at it"
	}
	return Holder{PID: e.PID}.Advice(e.Socket)
}

// patience bounds the wait for an answer: when the daemon has had its time, the
// cause of the context's end is a [*DeafError]. The caller ends it.
func patience(ctx context.Context, socket string, find func() (Holder, bool)) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for served, left := 0, answerTime; ; left -= lookEvery {
			select {
			case <-look.C:
			case <-ctx.Done():
				return
			}
			holder, held := find()
			if served++; !held || !holder.Serves || holder.Socket != socket {
				served, holder.PID = 0, 0
			}
			if served == deafLooks || left <= lookEvery {
				end(&DeafError{Socket: socket, PID: holder.PID})
				return
			}
		}
	}()
	return ctx, func() {
		end(nil)
		<-watched
	}
}

// findHolder finds the daemon of the state folder that this process would use,
// which need not be the one that is being called.
func findHolder() (Holder, bool) {
	where, err := paths.Find()
	if err != nil {
		return Holder{}, false
	}
	return FindHolder(where.Lock())
}
