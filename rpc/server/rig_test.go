package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: g.path, Net: "unix"})
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
	g.registry.Shutdown(ctx, false)
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
	if err := g.registry.Close(); err != nil {
		g.t.Errorf("registry: %v", err)
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

// strictLog fails the test where a method panics, or a subscriber of an
// orderly end counts as slow.
type strictLog struct {
	slog.Handler
	t *testing.T
}

func (l strictLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError || strings.Contains(r.Message, "too slow") {
		l.t.Errorf("the server logs: %s", r.Message)
	}
	return l.Handler.Handle(ctx, r)
}

// fakeCommands "runs" commands: their output is what the test says.
type fakeCommands struct {
	registry *registry.Registry
	registry2
	readError error          // of each read
	facts     registry.Facts // of each task
	reading   chan struct{}  // nil: input is taken at once; else once it is closed

	mu    sync.Mutex
	texts map[registry.Row]string
	last  tools.Command
	taken []string // input, in order
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

func (f *fakeCommands) Write(ctx context.Context, _ registry.Row, req registry.WriteRequest) (int, error) {
	if f.reading != nil {
		select {
		case <-f.reading:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken = append(f.taken, string(req.Data))
	return len(req.Data), nil
}

func (f *fakeCommands) Cancel(context.Context, registry.Row, *string) error { return nil }
func (f *fakeCommands) Facts(rows ...registry.Row) []registry.Facts {
	return slices.Repeat([]registry.Facts{f.facts}, len(rows))
}
func (f *fakeCommands) EndLeftovers(registry.Row) (int, error) { return 0, nil }

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

func (d *fakeDaemon) KeepsTasks(asked *bool) bool { return asked != nil && *asked }

func (d *fakeDaemon) Stop(keep bool) { d.note(fmt.Sprintf("stop keep=%v", keep)) }

func (d *fakeDaemon) CheckRestart(_ context.Context, executable string) error {
	if executable != "" {
		return errors.New(executable + " is no sidetask")
	}
	return nil
}
func (d *fakeDaemon) Restart(executable string) { d.note("restart " + executable) }
