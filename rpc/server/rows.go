package server

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sidetask/registry"
	"sidetask/rpc"
	"sidetask/scope"
	"sidetask/tools"
)

// rowWait is how long a row may take to get its id: a command can ask before
// its own start has been committed.
const rowWait = 5 * time.Second

// task says who makes a call and about which task. Instead of an id the
// operator may give a row number, "7" or as a command finds it in its
// $SIDETASK_TASK, "/7" (no id exists yet when it is started, and none looks so).
func (c *call) task(ref rpc.TaskRef) (by registry.Caller, id string, err error) {
	by, err = c.caller(ref.As)
	if err != nil {
		return by, "", err
	}
	digits := strings.TrimPrefix(ref.ID, "/")
	if _, owner := by.Owner(); owner || strings.Trim(digits, "0123456789") != "" {
		return by, ref.ID, nil
	}
	row, err := strconv.ParseInt(digits, 10, 64)
	if err != nil { // empty, or no row that there can be
		return by, ref.ID, nil
	}
	return by, c.idOf(registry.Row(row), ref.ID), nil
}

// idOf is the id of a row; given where it has none, for the error.
func (c *call) idOf(row registry.Row, given string) string {
	changed := make(chan struct{}, 1)
	remove := c.registry().OnChange(scope.Root, func(registry.Handle) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	defer remove()
	ctx, cancel := context.WithTimeout(c.ctx, rowWait)
	defer cancel()
	for {
		for _, t := range c.registry().List(registry.AsOperator(), true) {
			if t.Row == row {
				return t.ID
			}
		}
		if !c.registry().Rows(tools.CommandProducer)[row] || c.waits() != nil {
			return given
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return given
		}
	}
}
