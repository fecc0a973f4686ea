package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sidetask/config"
	"sidetask/rpc"
	"sidetask/scripts/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// deadMan ends a test that hangs; nothing depends on how long things take.
const deadMan = 2 * time.Minute

// wire is a server with a few methods of the test's own.
type wire struct {
	t       *testing.T
	server  *Server
	path    string
	started atomic.Int64  // calls of big
	release chan struct{} // closed: hold returns
	aborted chan string   // ids whose hold was aborted
	gone    chan struct{} // a value for each connection that has ended

	blocking chan struct{} // a value for each block that has started
}

func newWire(t *testing.T, limits config.Limits, slow time.Duration) *wire {
	t.Helper()
	if limits.MaxMessageBytes == 0 {
		limits.MaxMessageBytes = 1 << 20
	}
	if limits.MaxConnections == 0 {
		limits.MaxConnections = 100
	}
	w := &wire{t: t, path: filepath.Join(t.TempDir(), "s"), release: make(chan struct{}), aborted: make(chan string, 100), gone: make(chan struct{}, 100), blocking: make(chan struct{}, 100)}
	w.server = newServer(w.methods(), func() config.Limits { return limits }, slog.New(slog.DiscardHandler))
	w.server.slow = slow
	w.server.gone = func(*conn) { w.gone <- struct{}{} }
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadMan)
		defer cancel()
		if err := w.server.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != ErrClosed {
			t.Errorf("Serve: %v, want ErrClosed", err)
		}
	})
	return w
}

func (w *wire) methods() map[string]method {
	return map[string]method{
		"echo": {handle: func(c *call) (any, error) {
			if c.params == nil {
				return struct{}{}, nil
			}
			return c.params, nil
		}},
		"fail":  {handle: func(*call) (any, error) { return nil, rpc.Errorf(rpc.CodeUnknownTask, "unknown task bash-99") }},
		"panic": {handle: func(*call) (any, error) { panic("a mistake") }},
		"hold": {handle: func(c *call) (any, error) {
			if err := c.waits(); err != nil {
				return nil, err
			}
			select {
			case <-w.release:
				return "held", nil
			case <-c.ctx.Done():
				w.aborted <- string(c.id)
				return nil, c.ctx.Err()
			}
		}},
		"block": {handle: func(*call) (any, error) {
			w.blocking <- struct{}{}
			<-w.release
			return "done", nil
		}},
		"big": {handle: func(*call) (any, error) {
			w.started.Add(1)
			return strings.Repeat("x", 256<<10), nil
		}},
		"ask": {handle: func(c *call) (any, error) {
			var answer json.RawMessage
			if err := c.conn.ask(c.ctx, "question", struct{}{}, &answer); err != nil {
				return nil, err
			}
			return answer, nil
		}},
	}
}

// peer is a client of raw bytes.
type peer struct {
	t  *testing.T
	nc *net.UnixConn
	in *bufio.Reader
}

func (w *wire) dial() *peer {
	w.t.Helper()
	nc, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: w.path, Net: "unix"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(deadMan))
	return &peer{w.t, nc, bufio.NewReader(nc)}
}

func (p *peer) send(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.nc, s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatalf("read a line: %v (after %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) want(lines ...string) {
	p.t.Helper()
	for _, want := range lines {
		if got := p.line(); got != want {
			p.t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

func (p *peer) wantEnd() {
	p.t.Helper()
	rest, err := io.ReadAll(p.in)
	if errors.Is(err, syscall.ECONNRESET) { // the end, with something of ours unread
		err = nil
	}
	if err != nil || len(rest) > 0 {
		p.t.Fatalf("got %q, %v; want the end", rest, err)
	}
}
