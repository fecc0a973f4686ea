package client_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// deadline is the dead man's limit of a test: far more than anything takes.
const deadline = time.Minute

// message is one JSON-RPC message as it lies on the wire.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpc.Error      `json:"error"`
}

// scripted is a daemon of the test's making: a real socket on which the test
// says line by line what comes and goes.
type scripted struct {
	t        *testing.T
	socket   string
	listener net.Listener
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	s := &scripted{t: t, socket: filepath.Join(shortDir(t), "s")}
	s.listen()
	return s
}

// shortDir is a folder whose path leaves room for a socket's name (107 bytes).
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *scripted) listen() {
	s.t.Helper()
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		s.t.Fatal(err)
	}
	s.listener = l
	s.t.Cleanup(func() { _ = l.Close() })
}

// peer is the daemon's end of one connection.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// accept takes one connection and answers its initialize.
func (s *scripted) accept() *peer {
	s.t.Helper()
	p := s.acceptSilent()
	p.greet(p.read("initialize"), "v1.2.3")
	return p
}

func (s *scripted) acceptSilent() *peer {
	s.t.Helper()
	conn, err := s.listener.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(deadline)); err != nil {
		s.t.Fatal(err)
	}
	return &peer{s.t, conn, bufio.NewReader(conn)}
}

func (p *peer) greet(m message, version string) {
	p.t.Helper()
	p.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"protocolVersion":1,"server":{"name":"sidetask","version":"` + version + `"},"capabilities":{"methods":[]}}}`)
}

// read takes the next message, which must be of that method ("" for an answer).
func (p *peer) read(method string) message {
	p.t.Helper()
	line, err := p.in.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("read %q: %v", method, err)
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		p.t.Fatalf("read %s: %v", line, err)
	}
	if m.Method != method {
		p.t.Fatalf("got %s, want method %q", line, method)
	}
	return m
}

func (p *peer) write(line string) {
	p.t.Helper()
	if _, err := p.conn.Write([]byte(line + "\n")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) answer(m message, result string) {
	p.t.Helper()
	p.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

// dial connects to s while a goroutine accepts.
func dial(t *testing.T, s *scripted, o client.Options) (*client.Client, *peer) {
	t.Helper()
	o.Socket, o.Name, o.Version = s.socket, "test", "v1.2.3"
	type dialled struct {
		c   *client.Client
		err error
	}
	done := make(chan dialled, 1)
	go func() {
		c, err := client.Dial(t.Context(), o)
		done <- dialled{c, err}
	}()
	p := s.accept()
	d := <-done
	if d.err != nil {
		t.Fatal(d.err)
	}
	t.Cleanup(func() { _ = d.c.Close() })
	return d.c, p
}

// within fails the test if ch does not give a value: only a hang makes it wait.
func within[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(deadline):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}
