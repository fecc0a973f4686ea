package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

func TestDialSaysWhoIsCalling(t *testing.T) {
	s := newScripted(t)
	done := make(chan error, 1)
	go func() {
		c, err := client.Dial(t.Context(), client.Options{Socket: s.socket, Name: "acp", Version: "v9.9.9", Token: "secret", Delivered: true})
		if err == nil {
			err = c.Close()
		}
		done <- err
	}()
	p := s.acceptSilent()
	m := p.read("initialize")
	want := `{"protocolVersion":1,"client":{"name":"acp","version":"v9.9.9"},"token":"secret","capabilities":{"delivered":true}}`
	if string(m.Params) != want {
		t.Errorf("initialize got %s, want %s", m.Params, want)
	}
	p.greet(m, "v1.0.0")
	if err := within(t, done, "Dial"); err != nil {
		t.Error(err)
	}
}

func TestDialRefused(t *testing.T) {
	s := newScripted(t)
	done := make(chan error, 1)
	go func() {
		_, err := client.Dial(t.Context(), client.Options{Socket: s.socket, Token: "old"})
		done <- err
	}()
	p := s.acceptSilent()
	m := p.read("initialize")
	p.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32006,"message":"no such owner","data":{"kind":"ownerGone"}}}`)
	err := within(t, done, "Dial")
	if !errors.Is(err, rpc.ErrOwnerGone) || err.Error() != "no such owner" {
		t.Errorf("Dial = %v, want the daemon's error", err)
	}
}

// The daemon ends between connect and its answer: the next one is asked.
func TestDialLost(t *testing.T) {
	s := newScripted(t)
	done := make(chan error, 1)
	go func() {
		c, err := client.Dial(t.Context(), client.Options{Socket: s.socket})
		if err == nil {
			err = c.Close()
		}
		done <- err
	}()
	_ = s.acceptSilent().conn.Close()
	s.accept()
	if err := within(t, done, "Dial"); err != nil {
		t.Errorf("Dial = %v after one lost connection", err)
	}
	go func() {
		_, err := client.Dial(t.Context(), client.Options{Socket: s.socket})
		done <- err
	}()
	for range 3 {
		_ = s.acceptSilent().conn.Close()
	}
	if err := within(t, done, "Dial"); !errors.Is(err, client.ErrLost) {
		t.Errorf("Dial = %v when all are lost, want ErrLost", err)
	}
}

// What the daemon says of the connection before it closes it is the error.
func TestDialTooMany(t *testing.T) {
	s := newScripted(t)
	done := make(chan error, 1)
	go func() {
		_, err := client.Dial(t.Context(), client.Options{Socket: s.socket})
		done <- err
	}()
	p := s.acceptSilent()
	p.write(`{"jsonrpc":"2.0","id":null,"error":{"code":-32003,"message":"too many connections","data":{"kind":"limitReached"}}}`)
	_ = p.conn.Close()
	if err := within(t, done, "Dial"); !errors.Is(err, rpc.ErrLimitReached) || err.Error() != "too many connections" {
		t.Errorf("Dial = %v, want the daemon's word", err)
	}
}

// A daemon that is stopping is not the one that is wanted.
func TestDialStopping(t *testing.T) {
	s := newScripted(t)
	done := make(chan error, 1)
	go func() {
		c, err := client.Dial(t.Context(), client.Options{Socket: s.socket})
		if err == nil {
			err = c.Close()
		}
		done <- err
	}()
	p := s.acceptSilent()
	m := p.read("initialize")
	p.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32007,"message":"the daemon is shutting down"}}`)
	_ = p.conn.Close()
	s.accept()
	if err := within(t, done, "Dial"); err != nil {
		t.Errorf("Dial = %v, want the next daemon", err)
	}
}

func TestDialOtherProtocol(t *testing.T) {
	s := newScripted(t)
	done := make(chan error, 1)
	go func() {
		_, err := client.Dial(t.Context(), client.Options{Socket: s.socket})
		done <- err
	}()
	p := s.acceptSilent()
	p.answer(p.read("initialize"), `{"protocolVersion":2,"server":{"name":"sidetask","version":"v3.0.0"}}`)
	if err := within(t, done, "Dial"); err == nil || !strings.Contains(err.Error(), "sidetask daemon restart") {
		t.Errorf("Dial = %v, want it to say what to do", err)
	}
}

func TestCall(t *testing.T) {
	s := newScripted(t)
	c, p := dial(t, s, client.Options{})
	if got := c.Server().Server.Version; got != "v1.2.3" {
		t.Errorf("server version %q", got)
	}
	type outcome struct {
		result rpc.TaskResult
		err    error
	}
	call := func(id string) <-chan outcome {
		done := make(chan outcome, 1)
		go func() {
			var o outcome
			o.err = c.Call(t.Context(), rpc.MethodTaskGet, rpc.TaskRef{ID: id}, &o.result)
			done <- o
		}()
		return done
	}
	// Answers come in any order and find their calls.
	first := call("bash-1")
	m1 := p.read("task/get")
	second := call("bash-2")
	m2 := p.read("task/get")
	p.write(`{"jsonrpc":"2.0","id":` + string(m2.ID) + `,"error":{"code":-32001,"message":"unknown task bash-2","data":{"kind":"unknownTask"}}}`)
	p.answer(m1, `{"task":{"id":"bash-1","kind":"bash","label":"x","status":"running","startedAt":1}}`)
	if o := within(t, second, "answer"); !errors.Is(o.err, rpc.ErrUnknownTask) || o.err.Error() != "unknown task bash-2" {
		t.Errorf("second = %v, want unknown task bash-2", o.err)
	}
	if o := within(t, first, "answer"); o.err != nil || o.result.Task.ID != "bash-1" {
		t.Errorf("first = %+v", o)
	}
}

func TestCallCancelled(t *testing.T) {
	s := newScripted(t)
	c, p := dial(t, s, client.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Call(ctx, rpc.MethodTaskWait, rpc.TaskWait{}, nil) }()
	m := p.read("task/wait")
	cancel()
	if err := within(t, done, "Call"); !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v, want context.Canceled", err)
	}
	if got := p.read("$/cancel_request"); string(got.Params) != `{"requestId":`+string(m.ID)+`}` {
		t.Errorf("cancel_request %s for call %s", got.Params, m.ID)
	}
	// The late answer disturbs nobody.
	p.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32800,"message":"wait aborted"}}`)
	go func() { done <- c.Call(t.Context(), rpc.MethodTaskGet, rpc.TaskRef{}, nil) }()
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Error(err)
	}
}

func TestCallLost(t *testing.T) {
	s := newScripted(t)
	c, p := dial(t, s, client.Options{})
	done := make(chan error, 1)
	go func() { done <- c.Call(t.Context(), rpc.MethodTaskWait, rpc.TaskWait{}, nil) }()
	p.read("task/wait")
	_ = p.conn.Close()
	if err := within(t, done, "Call"); !errors.Is(err, client.ErrLost) {
		t.Errorf("Call = %v, want ErrLost", err)
	}
	within(t, c.Done(), "Done")
	if err := c.Call(t.Context(), rpc.MethodTaskGet, nil, nil); !errors.Is(err, client.ErrLost) {
		t.Errorf("Call afterwards = %v, want ErrLost", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}

// ARCHITECTURE, decision 10: the report is final when the agent has the answer.
func TestCallDelivered(t *testing.T) {
	s := newScripted(t)
	c, p := dial(t, s, client.Options{Delivered: true})
	for _, test := range []struct {
		arrived      bool
		method, name string
	}{{true, "tools/delivered", "id"}, {false, "$/cancel_request", "requestId"}} {
		got := make(chan func(bool), 1)
		go func() {
			var result rpc.ToolsCallResult
			arrived, err := c.CallDelivered(t.Context(), rpc.MethodToolsCall, rpc.ToolsCall{Name: rpc.ToolList}, &result)
			if err != nil {
				t.Error(err)
			}
			got <- arrived
		}()
		m := p.read("tools/call")
		p.answer(m, `{"content":[],"isError":false}`)
		within(t, got, "answer")(test.arrived)
		if note := p.read(test.method); string(note.Params) != `{"`+test.name+`":`+string(m.ID)+`}` || note.ID != nil {
			t.Errorf("%s %s (id %s) for call %s", test.method, note.Params, note.ID, m.ID)
		}
	}
}

func TestDialErrors(t *testing.T) {
	dir := shortDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(dir, "dead")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	long := filepath.Join(dir, strings.Repeat("x", 120))
	for _, test := range []struct {
		name, socket, want string
		none               bool
	}{
		{"nobody", filepath.Join(dir, "none"), "no sidetask daemon is running at " + filepath.Join(dir, "none"), true},
		{"dead socket", dead, "no sidetask daemon is running at " + dead, true},
		{"file in the way", file, file + " is in the way: it is not a socket; move it away, or set SIDETASK_SOCKET", false},
		{"too long", long, fmt.Sprintf("socket path %s has %d bytes, at most 107 are possible: set SIDETASK_SOCKET or XDG_RUNTIME_DIR to a shorter one", long, len(long)), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := client.Dial(t.Context(), client.Options{Socket: test.socket})
			if err == nil || err.Error() != test.want {
				t.Errorf("Dial = %v, want %s", err, test.want)
			}
			if got := errors.Is(err, client.ErrNoDaemon); got != test.none {
				t.Errorf("errors.Is(err, ErrNoDaemon) = %v, want %v", got, test.none)
			}
		})
	}
}

func TestNewer(t *testing.T) {
	for _, test := range []struct {
		program, daemon string
		want            bool
	}{
		{"v1.2.3", "v1.2.3", false},
		{"v1.2.4", "v1.2.3", true},
		{"v1.10.0", "v1.9.9", true},
		{"v2.0.0", "v1.99.99", true},
		{"v1.2.3", "v1.2.4", false},
		{"v1.3.0-rc1", "v1.2.9+dirty", true},
		{"(devel)", "v1.0.0", false},
		{"v1.0.0", "(devel)", false},
		{"v1.0", "v0.9.0", false},
		{"", "", false},
	} {
		if got := client.Newer(test.program, test.daemon); got != test.want {
			t.Errorf("Newer(%q, %q) = %v, want %v", test.program, test.daemon, got, test.want)
		}
	}
}
