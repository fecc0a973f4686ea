package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return fmt.Sprintf("stopped by %v", i.signal) }

// Unwrap makes the cause of the context's end an error like the context's own.
func (i interrupted) Unwrap() error { return context.Canceled }

// status is what a shell says of a process that the signal ended.
func (i interrupted) status() int { return 128 + int(i.signal) }

// onSignals ends the context at the first signal that asks for the end, with the
// signal as cause: a terminal is set back then, and nothing is printed. The second one ends the process in the system's own way: it must stay
// possible to get out of a command that hangs.
func onSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // as in a shell's background job: that stays so
			signal.Notify(signals, s)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(context.Canceled)
		<-done
	}
}

// stopped says whether a signal ended ctx, and which.
func stopped(ctx context.Context) (interrupted, bool) {
	var i interrupted
	ok := errors.As(context.Cause(ctx), &i)
	return i, ok
}
