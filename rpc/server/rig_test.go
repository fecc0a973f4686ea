package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sidetask/config"
	"sidetask/paths"
	"sidetask/producer"
	"sidetask/registry"
	"sidetask/rpc"
	"sidetask/scope"
	"sidetask/store"
	"sidetask/tools"
	"sidetask/wakeup"
)

// rig is a daemon without commands: all rooms behind a real socket, on a real
// database. Tasks come from outside producers and from fakeCommands.
type rig struct {
	t        *testing.T
	dir      string
	store    registry.Store // nil: a real database
	commands *fakeCommands
	live     *config.Live
	registry *registry.Registry
	outside  *producer.Outside
	wakeup   *wakeup.Wakeup
	tools    *tools.Tools
	server   *Server
	daemon   *fakeDaemon
	path     string
	served   chan error
	ended    chan struct{} // a value for each connection that is over and undone
	stops    []func()
}

// newRig starts one with a configuration file of that text.
func newRig(t *testing.T, text string) *rig {
	t.Helper()
	g := &rig{t: t, dir: t.TempDir()}
	g.start(text)
	t.Cleanup(g.stop)
	return g
}

func (g *rig) start(text string) {
	g.t.Helper()
	file := filepath.Join(g.dir, "config.toml")
	if text != "" {
		g.check(os.WriteFile(file, []byte(text), 0o600))
	}
	var err error
	g.live, err = config.Open(file, slog.New(slog.DiscardHandler))
	g.check(err)
	kept := g.store
	if kept == nil {
		kept, err = store.Open(filepath.Join(g.dir, "db"))
		g.check(err)
	}
	g.registry, err = registry.Open(registry.Options{
		Store: kept,
		Limit: func() int64 { return g.live.Current().Limits.MaxConcurrentTasksPerOwner },
		Serves: func(at scope.Path) bool {
			_, ok := g.live.Mount(at)
			return ok
		},
		Grace: func() registry.Grace { return registry.Grace{Owner: time.Hour, Stop: time.Second} },
	})
	g.check(err)
	g.commands = &fakeCommands{registry: g.registry, texts: make(map[registry.Row]string)}
	g.registry.AddProducer(tools.CommandProducer, g.commands)
	g.outside, err = producer.Open(producer.Options{
		Registry: g.registry, Paths: paths.Paths{State: g.dir},
		Settings: func() producer.Settings {
			s := g.live.Current()
			return producer.Settings{Grace: time.Duration(s.Owners.ProducerGraceMs) * time.Millisecond, Spool: s.Commands.SpoolBytes, SpoolHead: s.Commands.KeepHeadBytes}
		},
	})
	g.check(err)
	g.check(g.outside.Recover())
	g.wakeup = wakeup.New(g.registry, g.live)
	g.stops = append(g.stops, g.live.OnMounts(g.wakeup.Reconsider))
	g.tools = tools.New(tools.Options{Registry: g.registry, Live: g.live, Commands: g.commands})
	g.daemon = &fakeDaemon{}
	g.server = New(Engine{
		Registry: g.registry, Wakeup: g.wakeup, Tools: g.tools, Outside: g.outside, Live: g.live, Daemon: g.daemon, Version: "test",
		Log: slog.New(strictLog{slog.NewTextHandler(g.t.Output(), nil), g.t}),
	})
	g.ended = make(chan struct{}, 10_000)
	gone, ended := g.server.gone, g.ended
	g.server.gone = func(c *conn) {
		gone(c)
		ended <- struct{}{}
	}
	g.path = filepath.Join(g.dir, "s")
	listener, err := Listen(g.path, paths.Private)
	g.check(err)
	g.served = make(chan error, 1)
	server, served := g.server, g.served
	go func() { served <- server.Serve(listener) }()
}

func (g *rig) stop() {
	if g.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	defer cancel()
	for _, stop := range g.stops {
		stop()
	}
	g.stops = nil
	if err := g.registry.Shutdown(ctx, false); err != nil {
		g.t.Errorf("registry: %v", err)
	}
	if err := g.server.Close(ctx); err != nil {
		g.t.Errorf("server: %v", err)
	}
	if err := <-g.served; !errors.Is(err, ErrClosed) {
		g.t.Errorf("Serve: %v", err)
	}
	g.wakeup.Close()
	if err := g.outside.Close(); err != nil {
		g.t.Errorf("outside: %v", err)
	}
	g.server = nil
}

// restart is the next daemon on the same state.
func (g *rig) restart() {
	g.t.Helper()
	g.stop()
	g.start("")
}

func (g *rig) check(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// strictLog fails the test where a method panics.
type strictLog struct {
	slog.Handler
	t *testing.T
}

func (l strictLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		l.t.Errorf("the server logs an error: %s", r.Message)
	}
	return l.Handler.Handle(ctx, r)
}

// fakeCommands "runs" commands: their output is what the test says.
type fakeCommands struct {
	registry *registry.Registry
	registry2
	readError error          // of each read
	facts     registry.Facts // of each task

	mu    sync.Mutex
	texts map[registry.Row]string
	last  tools.Command
}

// registry2 has the methods of registry.Producer that the tests do not use.
type registry2 struct{ registry.Producer }

func (f *fakeCommands) Start(ctx context.Context, c registry.Caller, command tools.Command) (registry.Task, error) {
	f.mu.Lock()
	f.last = command
	f.mu.Unlock()
	label := command.Label
	if label == "" {
		label = command.Command
	}
	return f.registry.Start(ctx, c, registry.Spec{
		Kind: "bash", Label: label, OutputLimit: command.OutputLimit, Stream: true, Shared: command.Shared, Key: command.Key, Producer: tools.CommandProducer,
	}, func(row registry.Row) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.texts[row] = ""
		return nil
	})
}

func (f *fakeCommands) write(row registry.Row, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts[row] += text
}

func (f *fakeCommands) Cancel(context.Context, registry.Row, *string) error { return nil }
func (f *fakeCommands) Facts(registry.Row) registry.Facts                   { return f.facts }
func (f *fakeCommands) EndLeftovers(registry.Row) (int, error)              { return 0, nil }

func (f *fakeCommands) Read(row registry.Row, req registry.ReadRequest) (registry.Reading, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readError != nil {
		return registry.Reading{}, f.readError
	}
	text := f.texts[row]
	unread := text[min(req.From, int64(len(text))):]
	reading := registry.Reading{Text: unread, Next: int64(len(text))}
	if cut := int64(len(unread)) - req.Keep; req.Keep > 0 && cut > 0 {
		reading.Text, reading.LeftOut = unread[cut:], cut
	}
	return reading, nil
}

// fakeDaemon remembers what it was asked.
type fakeDaemon struct {
	mu    sync.Mutex
	asked []string
}

func (d *fakeDaemon) note(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, s)
}

func (d *fakeDaemon) Status(context.Context) (rpc.DaemonStatus, error) {
	return rpc.DaemonStatus{PID: os.Getpid(), Version: "test"}, nil
}

func (d *fakeDaemon) Stop(keep *bool) {
	if keep == nil {
		d.note("stop")
		return
	}
	d.note(fmt.Sprintf("stop keep=%v", *keep))
}

func (d *fakeDaemon) CheckRestart(_ context.Context, executable string) error {
	if executable != "" {
		return errors.New(executable + " is no sidetask")
	}
	return nil
}
func (d *fakeDaemon) Restart(executable string) { d.note("restart " + executable) }

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

// tool makes a tools/call.
func (c *client) tool(token, name string, arguments any) rpc.ToolsCallResult {
	c.t.Helper()
	var out rpc.ToolsCallResult
	c.call("tools/call", args{"token": token, "name": name, "arguments": arguments}, &out)
	return out
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
