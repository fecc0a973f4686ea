package main

import (
	"context"
	"errors"
	"fmt"

	"sidetask/rpc"
)

// behindError says that a follower was not done with the output of a task, which has
// ended, when somebody stopped the daemon: no daemon waits long for a slow reader.
type behindError struct{ task rpc.Task }

func (e *behindError) Error() string {
	return fmt.Sprintf("the daemon was stopped before all output of %s was shown", e.task.ID)
}

// Hint is what to do.
func (e *behindError) Hint() string {
	return fmt.Sprintf("`sidetask tail %s` starts the next one and shows what is kept", e.task.ID)
}

// hearEnd notes the end of a task as soon as it is told, for a follower that may be
// far behind with the output then. It returns when it has, or when ctx ends.
func (l *link) hearEnd(ctx context.Context, id string) {
	for {
		c, err := l.keeper.Client(ctx)
		if err != nil {
			return
		}
		var result rpc.TaskResult
		err = c.Call(ctx, rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{ID: id}, TimeoutMs: number(longWait)}, &result)
		var answer *rpc.Error
		switch {
		case err == nil && !result.Task.Status.Terminal(): // the longest wait is over
		case err == nil:
			if leftovers(result.Task) == 0 { // else more output may come
				l.ended.Store(&result.Task)
			}
			return
		case errors.As(err, &answer) && !errors.Is(err, rpc.ErrAborted) && !errors.Is(err, rpc.ErrShuttingDown):
			return // who follows hears it, too
		default: // lost, or about to be
			select {
			case <-c.Done():
			case <-ctx.Done():
				return
			}
		}
	}
}
