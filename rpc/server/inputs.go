package server

import (
	"slices"
	"sync"
	"time"

	"sidetask/registry"
)

// promptWrite is how long a task/write keeps the requests after it: a program
// that reads its input takes it at once, and then they start in the order sent
// as always. One that does not read must not block the connection.
const promptWrite = 50 * time.Millisecond

// inputs keeps the writes of a connection to one task in the order sent, though
// slow ones run beside each other.
type inputs struct {
	mu    sync.Mutex                 // guards lines
	lines map[string][]chan struct{} // by task: who writes and who is next; closed when it is its turn
}

// enter takes the place behind the writes before. The turn is closed when these
// are over; leave gives it on, or the place up.
func (i *inputs) enter(id string) (turn <-chan struct{}, leave func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.lines == nil {
		i.lines = make(map[string][]chan struct{})
	}
	mine := make(chan struct{})
	i.lines[id] = append(i.lines[id], mine)
	if len(i.lines[id]) == 1 {
		close(mine)
	}
	return mine, func() { i.leave(id, mine) }
}

func (i *inputs) leave(id string, mine chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	line := i.lines[id]
	at := slices.Index(line, mine)
	line = slices.Delete(line, at, at+1)
	i.lines[id] = line
	switch {
	case len(line) == 0:
		delete(i.lines, id)
	case at == 0:
		close(line[0])
	}
}

// write gives input to a task, and lets the next requests in when that takes
// long. A half-written input must not be written again, whatever cuts it off.
func (c *call) write(by registry.Caller, id string, req registry.WriteRequest) (written int, err error) {
	c.began = true
	if len(req.Data) == 0 && !req.EOF { // a terminal's size does not wait for its input
		return c.registry().Write(c.ctx, by, id, req)
	}
	turn, leave := c.conn.inputs.enter(id)
	defer leave()
	var refused error // by waits; set before late is closed
	late := make(chan struct{})
	timer := time.AfterFunc(promptWrite, func() {
		defer close(late)
		if refused = c.waits(); refused != nil {
			c.cancel()
		}
	})
	defer func() {
		if timer.Stop() {
			return
		}
		if <-late; refused != nil && err != nil {
			err = refused
		}
	}()
	select {
	case <-turn:
	case <-c.ctx.Done():
		return 0, registry.ErrWaitAborted
	}
	return c.registry().Write(c.ctx, by, id, req)
}
