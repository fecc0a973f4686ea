package registry

import (
	"errors"
	"fmt"
)

// Kind says what went wrong; whoever speaks a wire maps it to a code.
type Kind string

// The kinds of errors that callers tell apart.
const (
	KindInvalid        Kind = "invalid"        // a parameter is wrong
	KindUnknownTask    Kind = "unknownTask"    // T27
	KindForeignTask    Kind = "foreignTask"    // T28
	KindLimitReached   Kind = "limitReached"   // T97
	KindNoController   Kind = "noController"   // T9
	KindUnauthorized   Kind = "unauthorized"   // not this caller
	KindOwnerGone      Kind = "ownerGone"      // T13
	KindShuttingDown   Kind = "shuttingDown"   // the daemon ends
	KindProducerFailed Kind = "producerFailed" // T34, T40: the producer's own message
	KindAborted        Kind = "aborted"        // T48, T51
	KindLagged         Kind = "lagged"         // a subscriber was too slow
)

// Error is every error that the registry itself makes. What a store says
// comes wrapped in a plain error, what the run function of a start says comes
// as it is (T15).
type Error struct {
	Kind    Kind
	Message string
	Err     error // the cause, or nil
}

// Error is the message alone: it is written for the person who reads it.
func (e *Error) Error() string { return e.Message }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an [Error] of the same kind.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Kind == e.Kind
}

// Sentinels for errors.Is; the errors given out have messages of their own.
var (
	ErrInvalid        = &Error{Kind: KindInvalid, Message: "invalid"}
	ErrUnknownTask    = &Error{Kind: KindUnknownTask, Message: "unknown task"}
	ErrForeignTask    = &Error{Kind: KindForeignTask, Message: "task belongs to another session"}
	ErrLimitReached   = &Error{Kind: KindLimitReached, Message: "background task limit reached"}
	ErrNoController   = &Error{Kind: KindNoController, Message: "background tasks unavailable: no task controller serves this agent"}
	ErrUnauthorized   = &Error{Kind: KindUnauthorized, Message: "unauthorized"}
	ErrOwnerGone      = &Error{Kind: KindOwnerGone, Message: "the editor's connection is not back yet; retry"}
	ErrShuttingDown   = &Error{Kind: KindShuttingDown, Message: "the daemon is shutting down"}
	ErrProducerFailed = &Error{Kind: KindProducerFailed, Message: "the producer failed"}
	ErrLagged         = &Error{Kind: KindLagged, Message: "the subscriber fell behind the kept log; subscribe again"}
	ErrWaitAborted    = &Error{Kind: KindAborted, Message: "wait aborted"}
)

// Errorf makes an error of a kind.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// producerFailed keeps an [Error] as it is, and makes one of anything else
// that a producer says.
func producerFailed(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return err
	}
	return &Error{Kind: KindProducerFailed, Message: err.Error(), Err: err}
}

func unknownTask(id string) error { return Errorf(KindUnknownTask, "unknown task %s", id) }

// takenOver: the token was that of a host which another has put out.
func takenOver() error {
	return Errorf(KindOwnerGone, "this session has been opened or deleted in another place, so it has no background tasks here any more; do not retry: go on without them, and tell the user, who can open the session here again")
}
