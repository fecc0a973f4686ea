package main

import (
	"context"
	"errors"
	"fmt"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// Exit statuses (CLI.md). 128+n is "ended by signal n".
const (
	statusError    = 1
	statusUsage    = 2
	statusNoDaemon = rpc.ExitUnavailable
	statusConfig   = rpc.ExitConfig
	statusTimeout  = 124
)

// failure is an error for a person: one line of cause, one of what to do.
type failure struct {
	status int
	cause  error
	next   string // may be empty where the cause says it
}

func (f *failure) Error() string { return f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

// Hint is what to do.
func (f *failure) Hint() string { return f.next }

// fail makes an ordinary failure (status 1).
func fail(next, format string, args ...any) error {
	return &failure{statusError, fmt.Errorf(format, args...), next}
}

// misuse makes a failure of usage (status 2).
func misuse(next, format string, args ...any) error {
	return &failure{statusUsage, fmt.Errorf(format, args...), next}
}

// mendFile is what to do about a configuration file that is refused.
const mendFile = "mend the file; `sidetask config check` looks at it again"

// badConfig is the failure that such a file is.
func badConfig(why error) error { return &failure{statusConfig, why, mendFile} }

// exit is no error but the exit status of a command that has said all it had to.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// report writes err to stderr and returns the exit status that it means.
func (p *program) report(ctx context.Context, err error) int {
	var plain exit
	if errors.As(err, &plain) {
		return int(plain)
	}
	if i, ok := stopped(ctx); ok && errors.Is(err, context.Canceled) {
		return i.status()
	}
	p.say("%v", err)
	if next := hint(err); next != "" {
		p.say("%s", next)
	}
	return statusOf(err)
}

// hint is what to do about an error; may be empty.
func hint(err error) string {
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		return hinted.Hint()
	}
	return nextStep(err)
}

// statusOf is the exit status of an error.
func statusOf(err error) int {
	var f *failure
	var start *client.StartError
	var deaf *client.DeafError
	var answer *rpc.Error
	switch {
	case errors.As(err, &f):
		return f.status
	case errors.As(err, &answer) && answer.Code == rpc.CodeConfiguration:
		return statusConfig
	case errors.As(err, &start) && start.Status == rpc.ExitConfig:
		return statusConfig
	case start != nil, errors.As(err, &deaf), errors.Is(err, client.ErrNoDaemon), errors.Is(err, client.ErrLost), errors.Is(err, rpc.ErrShuttingDown):
		return statusNoDaemon
	}
	return statusError
}

// nextStep is what to do about an error of the daemon that does not say so itself.
func nextStep(err error) string {
	var answer *rpc.Error
	switch {
	case errors.Is(err, client.ErrLost):
		return "run the command again; `sidetask status` says how the daemon is"
	case !errors.As(err, &answer):
		return ""
	}
	switch answer.Code {
	case rpc.CodeConfiguration:
		return mendFile
	case rpc.CodeUnknownTask:
		return "`sidetask ls -a` lists all tasks"
	case rpc.CodeOwnerGone:
		return "`sidetask owners` lists the sessions; with --shared a task needs none"
	case rpc.CodeMethodNotFound:
		return "the daemon is of another version than this command: run `sidetask daemon restart`"
	case rpc.CodeShuttingDown:
		return "run the command again when it has ended"
	}
	return ""
}
