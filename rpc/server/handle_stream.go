package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"sidetask/registry"
	"sidetask/rpc"
	"sidetask/scope"
)

// defaultTailBytes is how much one task/tail gives where maxBytes is absent.
const defaultTailBytes = 256 << 10

func taskWait(c *call, p rpc.TaskWait) (any, error) {
	by, id, err := c.task(p.TaskRef)
	if err != nil {
		return nil, err
	}
	ms, err := c.checkedWait(by, id, p.TimeoutMs)
	if err != nil {
		return nil, err
	}
	if err := c.waits(); err != nil {
		return nil, err
	}
	c.conn.watch(p.As)
	task, receipt, err := c.registry().Wait(c.ctx, by, id, ms)
	c.report(receipt)
	if err != nil {
		return nil, err
	}
	return rpc.TaskResult{Task: c.snapshot(task, by)}, nil
}

// checkedWait makes the checks of a wait in the order of BEHAVIOUR T44.
func (c *call) checkedWait(by registry.Caller, id string, timeout json.RawMessage) (float64, error) {
	ms, wrong := registry.ParseWait(timeout, false)
	if wrong == nil {
		return ms, c.registry().CheckWait(by, id, ms)
	}
	if _, err := c.registry().Get(by, id); err != nil {
		return 0, err
	}
	return 0, wrong
}

func taskTail(c *call, p rpc.TaskTail) (any, error) {
	by, id, err := c.task(p.TaskRef)
	if err != nil {
		return nil, err
	}
	req := registry.TailRequest{MaxBytes: p.MaxBytes, Follow: p.Follow, Stream: p.Stream}
	if req.Offset, req.FromEnd, err = tailOffset(p.Offset); err != nil {
		return nil, err
	}
	switch {
	case p.MaxBytes < 0 || p.MaxBytes > rpc.MaxTailBytes:
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "maxBytes" must be at most %d, and not negative`, rpc.MaxTailBytes)
	case p.MaxBytes == 0:
		req.MaxBytes = defaultTailBytes
	}
	if p.Stream != "" && p.Stream != "stdout" && p.Stream != "stderr" {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "stream" must be "stdout" or "stderr"`)
	}
	if _, err := c.registry().Get(by, id); err != nil {
		return nil, err
	}
	if p.Follow {
		if err := c.waits(); err != nil {
			return nil, err
		}
		c.conn.watch(p.As)
	}
	got, err := c.registry().Tail(c.ctx, by, id, req)
	if err != nil {
		return nil, err
	}
	return tailed(got), nil
}

// tailOffset reads an offset: a number of bytes, negative ones from the end,
// or "end".
func tailOffset(raw json.RawMessage) (offset int64, fromEnd bool, err error) {
	if optional(raw) == nil {
		return 0, false, nil
	}
	if string(raw) == `"end"` {
		return 0, true, nil
	}
	n, err := strconv.ParseInt(string(whole(raw)), 10, 64)
	if err != nil || n == math.MinInt64 {
		return 0, false, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "offset" must be a whole number or "end"`)
	}
	if n < 0 {
		return -n, true, nil
	}
	return n, false, nil
}

// tailed gives text as it is, anything else in base64. A code point that is
// cut at the end waits for the next call.
func tailed(got registry.Tailed) rpc.TaskTailResult {
	out := rpc.TaskTailResult{Encoding: "utf-8", Offset: got.Offset, Next: got.Next, Lost: got.Lost, EOF: got.EOF}
	data := got.Data
	if !got.EOF {
		if whole := wholeRunes(data); len(whole) > 0 && utf8.Valid(whole) {
			out.Next -= int64(len(data) - len(whole))
			data = whole
		}
	}
	out.Data = string(data)
	if !utf8.Valid(data) {
		out.Data, out.Encoding = base64.StdEncoding.EncodeToString(data), "base64"
	}
	return out
}

// wholeRunes drops a code point that is cut at the end.
func wholeRunes(data []byte) []byte {
	for i := len(data) - 1; i >= 0 && i >= len(data)-utf8.UTFMax; i-- {
		if utf8.RuneStart(data[i]) {
			if !utf8.FullRune(data[i:]) {
				return data[:i]
			}
			break
		}
	}
	return data
}

func taskWrite(c *call, p rpc.TaskWrite) (any, error) {
	by, id, err := c.task(p.TaskRef)
	if err != nil {
		return nil, err
	}
	req := registry.WriteRequest{Data: []byte(p.Data), EOF: p.EOF}
	switch p.Encoding {
	case "", "utf-8":
	case "base64":
		if req.Data, err = base64.StdEncoding.DecodeString(p.Data); err != nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "data" is not base64: %v`, err)
		}
	default:
		return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "encoding" must be "utf-8" or "base64"`)
	}
	if p.Resize != nil {
		if !hasSize(*p.Resize) {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, `invalid params: "resize" needs cols and rows of at least 1`)
		}
		req.Cols, req.Rows = p.Resize.Cols, p.Resize.Rows
	}
	written, err := c.write(by, id, req)
	if err != nil {
		return nil, err
	}
	return rpc.TaskWritten{Written: written}, nil
}

// taskSubscribe follows the change log. A connection has one subscription: a
// new one takes the place of the old, so that nothing is told twice.
func taskSubscribe(c *call, p rpc.TaskSubscribe) (any, error) {
	by, err := c.caller(p.As)
	if err != nil {
		return nil, err
	}
	at := scope.Root
	if p.Scope != "" {
		if at, err = scope.Parse(p.Scope); err != nil {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s", err)
		}
	}
	sub, err := c.registry().Subscribe(by, at, p.Since)
	if err != nil {
		return nil, err
	}
	conn := c.conn
	conn.stay()
	ctx, stop := context.WithCancel(conn.ctx)
	conn.mu.Lock()
	before := conn.unsubscribe
	conn.unsubscribe = stop
	conn.mu.Unlock()
	if before != nil {
		before()
	}
	c.after = append(c.after, func() {
		conn.wg.Go(func() { // ends with ctx
			defer sub.Close()
			defer stop()
			conn.follow(ctx, sub, by)
		})
	})
	return rpc.TaskSubscribed{Seq: sub.Seq, Tasks: c.snapshots(sub.Tasks, by), Reset: sub.Reset}, nil
}

// follow tells of changes as fast as the client takes them.
func (c *conn) follow(ctx context.Context, sub *registry.Subscription, by registry.Caller) {
	view := &call{conn: c}
	for {
		event, err := sub.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case !errors.Is(err, registry.ErrLagged) && err != nil:
			return // the daemon ends
		case err != nil: // it can only subscribe again, and hears what is missing
			c.server.log.Warn("a subscriber was too slow and is disconnected", "client", c.describe().Name, "error", err)
			c.cancel()
			return
		}
		if c.out.room(ctx) != nil {
			return
		}
		if event.Removed {
			c.notify(rpc.NotifyTaskRemoved, rpc.TaskRemoved{Seq: event.Seq, ID: event.Task.ID})
			continue
		}
		c.notify(rpc.NotifyTaskChanged, rpc.TaskChanged{Seq: event.Seq, Task: view.snapshot(event.Task, by)})
	}
}
