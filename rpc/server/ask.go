package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"sidetask/rpc"
	"sidetask/tools"
)

// errPeerGone is the answer to our request of a client that cannot answer.
var errPeerGone = errors.New("the connection is gone")

// notify queues a notification.
func (c *conn) notify(method string, params any) {
	if line, err := encode(request{JSONRPC: "2.0", Method: method, Params: params}); err == nil {
		c.out.send(line, nil)
	}
}

// raise queues a notification of which only the newest with that key matters.
func (c *conn) raise(key, method string, params any) {
	c.out.raise(key, func() []byte {
		line, _ := encode(request{JSONRPC: "2.0", Method: method, Params: params})
		return line
	})
}

// ask sends the client a request and waits for its answer. The error is the
// client's own ([rpc.Error]), that of ctx,
// errPeerGone, or what is wrong with its answer, in words for a model.
func (c *conn) ask(ctx context.Context, method string, params, result any) error {
	reply := make(chan message, 1)
	c.mu.Lock()
	if c.inputEnded {
		c.mu.Unlock()
		return errPeerGone
	}
	c.lastAsked++
	id := c.lastAsked
	c.asked[id] = reply
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, id)
		c.mu.Unlock()
	}()
	line, err := encode(request{JSONRPC: "2.0", ID: &id, Method: method, Params: params})
	if err != nil {
		return err
	}
	c.out.send(line, nil)
	select {
	case m := <-reply:
		if m.err != nil {
			return m.err
		}
		if m.result == nil {
			return rpc.Errorf(rpc.CodeInvalidRequest, "an answer without result")
		}
		if err := json.Unmarshal(m.result, result); err != nil {
			return fmt.Errorf("its answer to %s is wrong: %w", method, tools.Plain(err))
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return errPeerGone
	}
}

// answered hands the answer of a client to who asked. One that nobody waits
// for any more is dropped.
func (c *conn) answered(m message) {
	id, err := strconv.ParseUint(string(m.id), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	reply := c.asked[id]
	delete(c.asked, id)
	c.mu.Unlock()
	if reply != nil {
		reply <- m
	}
}
