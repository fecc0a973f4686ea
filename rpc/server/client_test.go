package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"sidetask/registry"
	"sidetask/rpc"
)

// client is a connection that calls by name and answers the daemon's requests.
type client struct {
	t      *testing.T
	nc     *net.UnixConn
	answer map[string]func(params json.RawMessage) (any, *rpc.Error) // by method; set before use
	notes  chan note
	ended  chan struct{}

	mu     sync.Mutex
	last   int
	open   map[string]chan reply
	writes sync.Mutex
}

// note is a notification of the daemon.
type note struct {
	method string
	params json.RawMessage
}

type reply struct {
	result json.RawMessage
	err    *rpc.Error
}

func (g *rig) dial() *client {
	g.t.Helper()
	nc, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: g.path, Net: "unix"})
	g.check(err)
	c := &client{
		t: g.t, nc: nc, answer: make(map[string]func(json.RawMessage) (any, *rpc.Error)),
		notes: make(chan note, 1000), ended: make(chan struct{}), open: make(map[string]chan reply),
	}
	go c.read()
	g.t.Cleanup(c.close)
	return c
}

func (c *client) close() {
	_ = c.nc.Close()
	<-c.ended
}

func (c *client) read() {
	defer close(c.ended)
	in := bufio.NewReader(c.nc)
	var answering sync.WaitGroup
	defer answering.Wait()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			c.mu.Lock()
			for _, waiting := range c.open {
				close(waiting)
			}
			c.open = nil
			c.mu.Unlock()
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *rpc.Error
		}
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Errorf("the daemon wrote %q: %v", line, err)
			return
		}
		switch {
		case m.Method != "" && m.ID == nil:
			c.notes <- note{m.Method, m.Params}
		case m.Method != "":
			answer := c.answer[m.Method]
			if answer == nil {
				continue // silence
			}
			answering.Go(func() {
				result, failed := answer(m.Params)
				c.write(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result, "error": failed})
			})
		default:
			c.mu.Lock()
			waiting := c.open[string(m.ID)]
			delete(c.open, string(m.ID))
			c.mu.Unlock()
			if waiting != nil {
				waiting <- reply{m.Result, m.Error}
			}
		}
	}
}

func (c *client) write(m map[string]any) {
	if m["error"] == (*rpc.Error)(nil) {
		delete(m, "error")
	} else {
		delete(m, "result")
	}
	line, err := json.Marshal(m)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	_, _ = c.nc.Write(append(line, '\n'))
}

// start sends a request; the reply comes on the channel.
func (c *client) start(method string, params any) (id string, replies <-chan reply) {
	c.mu.Lock()
	c.last++
	id = fmt.Sprint(c.last)
	waiting := make(chan reply, 1)
	if c.open == nil {
		close(waiting)
	} else {
		c.open[id] = waiting
	}
	c.mu.Unlock()
	c.write(map[string]any{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params, "error": (*rpc.Error)(nil)})
	return id, waiting
}

func (c *client) await(replies <-chan reply) reply {
	c.t.Helper()
	select {
	case r, ok := <-replies:
		if !ok {
			c.t.Fatal("the connection ended before the answer")
		}
		return r
	case <-time.After(deadMan):
		c.t.Fatal("no answer")
	}
	return reply{}
}

// try makes a call that may fail.
func (c *client) try(method string, params, result any) error {
	c.t.Helper()
	_, replies := c.start(method, params)
	r := c.await(replies)
	if r.err != nil {
		return r.err
	}
	if result != nil {
		if err := json.Unmarshal(r.result, result); err != nil {
			c.t.Fatalf("%s: %v in %s", method, err, r.result)
		}
	}
	return nil
}

// call makes a call that succeeds.
func (c *client) call(method string, params, result any) {
	c.t.Helper()
	if err := c.try(method, params, result); err != nil {
		c.t.Fatalf("%s %v: %v", method, params, err)
	}
}

// refused makes a call that fails with that code and message.
func (c *client) refused(code int, message, method string, params any) {
	c.t.Helper()
	err := c.try(method, params, nil)
	var wire *rpc.Error
	if !errors.As(err, &wire) || wire.Code != code || wire.Message != message {
		c.t.Errorf("%s %v: got %v (%+v)\nwant %d %s", method, params, err, wire, code, message)
	}
}

func (c *client) notify(method string, params any) {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	_, _ = io.WriteString(c.nc, string(line)+"\n")
}

// heard waits for a notification of that method; others in front are dropped.
func (c *client) heard(method string, params any) {
	c.t.Helper()
	for {
		select {
		case n := <-c.notes:
			if n.method != method {
				continue
			}
			if params != nil {
				if err := json.Unmarshal(n.params, params); err != nil {
					c.t.Fatal(err)
				}
			}
			return
		case <-time.After(deadMan):
			c.t.Fatalf("no %s", method)
		}
	}
}

const tokenA, tokenB = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"

type args = map[string]any

// host registers an owner on a connection of its own.
func (g *rig) host(token, session string) *client {
	g.t.Helper()
	c := g.dial()
	c.call("owner/register", args{"token": token, "agent": "test", "session": session, "cwd": "/"}, nil)
	return c
}

// registered is a task of an outside producer.
func (c *client) registered(params args) rpc.TaskRegistered {
	c.t.Helper()
	var out rpc.TaskRegistered
	c.call("task/register", params, &out)
	return out
}

// tool makes a tools/call; without a token on a bound connection.
func (c *client) tool(token, name string, arguments any) rpc.ToolsCallResult {
	c.t.Helper()
	var out rpc.ToolsCallResult
	c.call("tools/call", rpc.ToolsCall{As: rpc.As{Token: token}, Name: name, Arguments: encoded(c.t, arguments)}, &out)
	return out
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// text is the one text block of a result.
func text(t *testing.T, r rpc.ToolsCallResult) string {
	t.Helper()
	if len(r.Content) != 1 || r.Content[0].Type != "text" {
		t.Fatalf("content %+v, want one text", r.Content)
	}
	return r.Content[0].Text
}

// tasks are all tasks.
func (g *rig) tasks() []registry.Task { return g.registry.List(registry.AsOperator(), true) }
