package server

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"sidetask/registry"
	"sidetask/rpc"
)

// call is one request of a client, from its arrival until its answer has been
// written. A handler has it to itself; only cancel is for others.
type call struct {
	conn   *conn
	id     json.RawMessage // nil: a notification, which gets no answer
	method string
	params json.RawMessage
	size   int
	refuse *rpc.Error // the answer is settled: the message itself was wrong

	ctx    context.Context
	cancel context.CancelFunc

	began    bool                // it has done what must not be done twice
	waiting  bool                // another request has been let in beside it
	receipts []*registry.Receipt // final or void when the answer is written or lost
	after    []func()            // run when the answer has been queued
	agent    bool                // the answer counts as delivered at tools/delivered
	timer    *time.Timer         // gives up on that; set with the call in conn.unconfirmed
}

// run makes the answer and queues it.
func (c *call) run() {
	result, err := c.handle()
	if c.waiting {
		c.conn.noLongerWaits()
	}
	var answer response
	if err != nil {
		answer.Error = c.errorOf(err)
		for _, receipt := range c.receipts {
			receipt.Failed()
		}
		c.receipts = nil
	} else {
		answer.Result = result
	}
	c.conn.answer(c, answer)
	for _, next := range c.after {
		next()
	}
}

// errorOf is the error of a call. One that the end of the daemon cut off has
// not been made: -32007 has the client make it again on the next daemon.
func (c *call) errorOf(err error) *rpc.Error {
	wire := wireError(err)
	if wire.Code == rpc.CodeAborted && !c.began && c.conn.server.ending() {
		return rpc.Errorf(rpc.CodeShuttingDown, "%s", rpc.ErrShuttingDown.Message)
	}
	return wire
}

// handle runs the method. A mistake in it must not take the daemon down.
func (c *call) handle() (result any, err error) {
	if c.refuse != nil {
		return nil, c.refuse
	}
	m, ok := c.conn.server.methods[c.method]
	if !ok {
		return nil, rpc.Errorf(rpc.CodeMethodNotFound, "unknown method %s; if this daemon is older than its client: sidetask daemon restart", cut(c.method, 100))
	}
	if m.operator && c.conn.boundTo() != "" {
		return nil, rpc.Errorf(rpc.CodeUnauthorized, "%s is the operator's: this connection is bound to one owner", c.method)
	}
	defer func() {
		if fault := recover(); fault != nil {
			c.conn.server.log.Error("a method failed", "method", c.method, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
			result, err = nil, rpc.Errorf(rpc.CodeInternal, "internal error in %s; the daemon's log has more", c.method)
		}
	}()
	return m.handle(c)
}

// waits says that the call may wait from here on, so that the next request of
// the connection may start. It is refused where too many wait already.
func (c *call) waits() error {
	if c.waiting {
		return nil
	}
	if !c.conn.letNextIn() {
		return rpc.Errorf(rpc.CodeLimitReached, "too many open calls")
	}
	c.waiting = true
	return nil
}

// report hands over what becomes final when the answer has been delivered.
func (c *call) report(receipt *registry.Receipt) {
	if receipt != nil {
		c.receipts = append(c.receipts, receipt)
	}
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
