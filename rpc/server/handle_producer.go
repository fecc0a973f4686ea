package server

import (
	"context"
	"encoding/json"
	"errors"

	"sidetask/producer"
	"sidetask/registry"
	"sidetask/rpc"
)

// Cancel asks the client to stop a task of its own (producer.Conn).
func (c *conn) Cancel(ctx context.Context, id string, reason *string) error {
	var any json.RawMessage
	err := c.ask(ctx, rpc.MethodTaskCancel, rpc.TaskCancel{ID: id, Reason: reason}, &any)
	var own *rpc.Error
	if errors.As(err, &own) {
		return errors.New(own.Message)
	}
	return err
}

func taskRegister(c *call, p rpc.TaskRegister) (any, error) {
	by, err := c.awaitCaller(p.As)
	if err != nil {
		return nil, err
	}
	task, key, started, err := c.conn.server.engine.Outside.Register(c.ctx, by, producer.Registration{
		Kind: p.Kind, Label: p.Label, Stream: p.Stream, Shared: p.Shared, OutputLimit: optional(p.OutputLimitBytes),
	}, c.conn)
	if err != nil {
		return nil, err
	}
	c.after = append(c.after, started)
	return rpc.TaskRegistered{Task: c.snapshot(task, by), Key: key}, nil
}

func taskAppend(c *call, p rpc.TaskAppend) (any, error) {
	if err := given("id", p.ID); err != nil {
		return nil, err
	}
	if err := c.conn.server.engine.Outside.Append(c.conn, p.ID, p.Text); err != nil {
		return nil, err
	}
	return rpc.Empty{}, nil
}

func taskSettle(c *call, p rpc.TaskSettle) (any, error) {
	if err := given("id", p.ID); err != nil {
		return nil, err
	}
	outcome := registry.Outcome{Status: registry.Status(p.Status), Detail: p.Detail}
	if err := c.conn.server.engine.Outside.Settle(c.conn, p.ID, outcome, p.Output); err != nil {
		return nil, err
	}
	return rpc.Empty{}, nil
}

func taskResume(c *call, p rpc.TaskResume) (any, error) {
	if err := given("id", p.ID); err != nil {
		return nil, err
	}
	task, err := c.conn.server.engine.Outside.Resume(c.conn, p.ID, p.Key)
	if err != nil {
		return nil, err
	}
	return rpc.TaskResult{Task: public(task)}, nil
}
