package server

import (
	"encoding/json"
	"slices"
	"time"

	"sidetask/rpc"
)

// confirmTimeout is how long a client may take from the answer of a tools/call
// to its tools/delivered; then the answer counts as lost and its bytes come again.
const confirmTimeout = 60 * time.Second

// answer queues the answer of a call; with it its reports become final, or
// void when it cannot be written.
func (c *conn) answer(done *call, r response) {
	if done.id == nil { // a notification: nobody learns what it found
		done.deliver(false)
		return
	}
	r.JSONRPC, r.ID = "2.0", done.id
	line, err := encode(r)
	if err != nil {
		done.deliver(false)
		c.server.log.Error("cannot encode an answer", "method", done.method, "error", err)
		line, _ = encode(response{JSONRPC: "2.0", ID: done.id, Error: rpc.Errorf(rpc.CodeInternal, "the answer cannot be encoded")})
	}
	if done.agent && len(done.receipts) > 0 {
		c.expectConfirm(done)
		c.out.send(line, func(written bool) {
			if !written {
				c.unconfirm(done)
			}
		})
		return
	}
	c.out.send(line, done.deliver)
}

// deliver says to all reports of a call whether they have arrived.
func (c *call) deliver(arrived bool) {
	receipts := c.receipts
	c.receipts = nil
	for _, receipt := range receipts {
		if arrived {
			receipt.Delivered()
		} else {
			receipt.Failed()
		}
	}
}

// expectConfirm keeps the reports of an answer until tools/delivered.
func (c *conn) expectConfirm(done *call) {
	id := string(done.id)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unconfirmed[id] = append(c.unconfirmed[id], done)
	done.timer = time.AfterFunc(confirmTimeout, func() { c.unconfirm(done) })
}

// unconfirm gives an answer up: it has not been written, or its client does
// not say that it arrived.
func (c *conn) unconfirm(done *call) {
	id := string(done.id)
	c.mu.Lock()
	i := slices.Index(c.unconfirmed[id], done)
	if i >= 0 {
		c.unconfirmed[id] = slices.Delete(c.unconfirmed[id], i, i+1)
	}
	if len(c.unconfirmed[id]) == 0 {
		delete(c.unconfirmed, id)
	}
	c.mu.Unlock()
	if i >= 0 {
		done.timer.Stop()
		done.deliver(false)
	}
}

// confirm is tools/delivered.
func (c *conn) confirm(params json.RawMessage) {
	var which rpc.ToolsDelivered
	if json.Unmarshal(params, &which) != nil {
		return
	}
	id := string(which.ID)
	c.mu.Lock()
	calls := c.unconfirmed[id]
	delete(c.unconfirmed, id)
	c.mu.Unlock()
	for _, done := range calls {
		done.timer.Stop()
		done.deliver(true)
	}
}
