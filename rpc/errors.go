package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// RawID is a JSON-RPC id exactly as it was sent.
type RawID = json.RawMessage

// Codes of JSON-RPC 2.0 and of this protocol (docs/api.md, Errors).
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	CodeAborted        = -32800 // "wait aborted"

	CodeUnknownTask    = -32001
	CodeForeignTask    = -32002
	CodeLimitReached   = -32003
	CodeNoController   = -32004
	CodeUnauthorized   = -32005
	CodeOwnerGone      = -32006
	CodeShuttingDown   = -32007
	CodeProducerFailed = -32008
	CodeTooLarge       = -32009
	CodeConfiguration  = -32010 // the daemon does not start: its configuration is refused
)

// kinds are the values of data.kind, by code.
var kinds = map[int]string{
	CodeUnknownTask:    "unknownTask",
	CodeForeignTask:    "foreignTask",
	CodeLimitReached:   "limitReached",
	CodeNoController:   "noController",
	CodeUnauthorized:   "unauthorized",
	CodeOwnerGone:      "ownerGone",
	CodeShuttingDown:   "shuttingDown",
	CodeProducerFailed: "producerFailed",
	CodeTooLarge:       "tooLarge",
	CodeConfiguration:  "configuration",
}

// Error is a JSON-RPC error object. Two errors are the same to [errors.Is]
// when their codes are, so a sentinel below matches what came over the wire.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Sentinels for errors.Is on either end.
var (
	ErrUnknownTask    = &Error{Code: CodeUnknownTask, Message: "unknown task"}
	ErrForeignTask    = &Error{Code: CodeForeignTask, Message: "task belongs to another session"}
	ErrLimitReached   = &Error{Code: CodeLimitReached, Message: "limit reached"}
	ErrNoController   = &Error{Code: CodeNoController, Message: "no task controller"}
	ErrUnauthorized   = &Error{Code: CodeUnauthorized, Message: "unauthorized"}
	ErrOwnerGone      = &Error{Code: CodeOwnerGone, Message: "owner gone"}
	ErrShuttingDown   = &Error{Code: CodeShuttingDown, Message: "the daemon is shutting down"}
	ErrProducerFailed = &Error{Code: CodeProducerFailed, Message: "producer failed"}
	ErrTooLarge       = &Error{Code: CodeTooLarge, Message: "message too large"}
	ErrAborted        = &Error{Code: CodeAborted, Message: "wait aborted"}
)

// Errorf makes an error with a code, its kind as data, and a message.
func Errorf(code int, format string, args ...any) *Error {
	e := &Error{Code: code, Message: fmt.Sprintf(format, args...)}
	if kind, ok := kinds[code]; ok {
		e.Data = json.RawMessage(`{"kind":"` + kind + `"}`)
	}
	return e
}

// Error returns the message alone: it is written for the person who reads it.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an [Error] of the same code.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code
}
