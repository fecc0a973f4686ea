package server

import (
	"context"
	"errors"

	"sidetask/registry"
	"sidetask/rpc"
	"sidetask/tools"
)

// codes of the registry's errors (API.md, Errors).
var codes = map[registry.Kind]int{
	registry.KindInvalid:        rpc.CodeInvalidParams,
	registry.KindUnknownTask:    rpc.CodeUnknownTask,
	registry.KindForeignTask:    rpc.CodeForeignTask,
	registry.KindLimitReached:   rpc.CodeLimitReached,
	registry.KindNoController:   rpc.CodeNoController,
	registry.KindUnauthorized:   rpc.CodeUnauthorized,
	registry.KindOwnerGone:      rpc.CodeOwnerGone,
	registry.KindShuttingDown:   rpc.CodeShuttingDown,
	registry.KindProducerFailed: rpc.CodeProducerFailed,
	registry.KindAborted:        rpc.CodeAborted,
}

// wireError makes the error object of an error.
func wireError(err error) *rpc.Error {
	var known *registry.Error // before the wire's: a producer's own error may be inside
	var wire *rpc.Error
	switch {
	case errors.As(err, &known):
		if code, ok := codes[known.Kind]; ok {
			return rpc.Errorf(code, "%s", known.Message)
		}
	case errors.As(err, &wire):
		return wire
	case errors.Is(err, tools.ErrDenied):
		return rpc.Errorf(rpc.CodeUnauthorized, "%s", err.Error())
	case errors.Is(err, context.Canceled):
		return rpc.Errorf(rpc.CodeAborted, "wait aborted")
	}
	return rpc.Errorf(rpc.CodeInternal, "%s", err.Error())
}
