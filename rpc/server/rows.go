package server

import (
	"strconv"
	"strings"

	"sidetask/registry"
	"sidetask/rpc"
)

// task says who makes a call and about which task. Instead of an id the
// operator may give a row number, "7" or as a command finds it in its
// $SIDETASK_TASK, "/7" (no id exists yet when it is started, and none looks so).
func (c *call) task(ref rpc.TaskRef) (by registry.Caller, id string, err error) {
	by, err = c.caller(ref.As)
	if err != nil {
		return by, "", err
	}
	if err := given("id", ref.ID); err != nil {
		return by, "", err
	}
	row, err := strconv.ParseUint(strings.TrimPrefix(ref.ID, "/"), 10, 63)
	if _, owner := by.Owner(); owner || err != nil {
		return by, ref.ID, nil
	}
	if err := c.waits(); err != nil { // a command can ask before its own start is committed
		return by, "", err
	}
	task, err := c.registry().ByRow(c.ctx, by, registry.Row(row))
	return by, task.ID, err
}

// given refuses a parameter that must be there and is not.
func given(name, value string) error {
	if value == "" {
		return rpc.Errorf(rpc.CodeInvalidParams, "invalid params: missing %q", name)
	}
	return nil
}
