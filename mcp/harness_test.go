package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetask/rpc"
	"sidetask/scripts/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// deadMan bounds what would otherwise hang a broken test.
const deadMan = 2 * time.Minute

// journal is what happened, in order.
type journal struct {
	mu      sync.Mutex // guards entries
	entries []string
}

func (j *journal) note(entry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal) all() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.entries, " ")
}

// heard is a request or notification that the daemon's side got.
type heard struct {
	conn   net.Conn
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (h heard) answer(t *testing.T, result string) {
	t.Helper()
	h.write(t, `"result":`+result)
}

func (h heard) fail(t *testing.T, code int, message string) {
	t.Helper()
	h.write(t, fmt.Sprintf(`"error":{"code":%d,"message":%q}`, code, message))
}

func (h heard) write(t *testing.T, body string) {
	t.Helper()
	if _, err := fmt.Fprintf(h.conn, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", h.ID, body); err != nil {
		t.Errorf("answer %s: %v", h.Method, err)
	}
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return `{"content":[{"type":"text","text":` + string(quoted) + `}],"value":{"secret":1},"isError":false}`
}

// scripted is the daemon's side of the socket, played by the test: initialize
// is answered by itself, everything else waits in heard.
type scripted struct {
	heard   chan heard
	journal *journal
	stop    func()
	stopped chan struct{}
	wg      sync.WaitGroup
}

// socketPath is short enough for a socket.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s.sock")
}

func listen(t *testing.T, socket string, j *journal) *scripted {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	d := &scripted{heard: make(chan heard, 100), journal: j, stopped: make(chan struct{})}
	var mu sync.Mutex
	var conns []net.Conn
	d.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
			d.wg.Go(func() { d.serve(t, c) })
		}
	})
	d.stop = sync.OnceFunc(func() {
		close(d.stopped)
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		d.wg.Wait()
	})
	t.Cleanup(d.stop)
	return d
}

func (d *scripted) serve(t *testing.T, c net.Conn) {
	dec := json.NewDecoder(c)
	for {
		h := heard{conn: c}
		if dec.Decode(&h) != nil {
			return
		}
		d.journal.note(h.Method)
		if h.Method == rpc.MethodInitialize {
			h.answer(t, `{"protocolVersion":1,"server":{"name":"scripted","version":"1"},"capabilities":{"methods":[]}}`)
			d.heard <- heard{Method: h.Method, Params: h.Params}
			continue
		}
		d.heard <- h
	}
}

// answersOne answers the next call of that method, while the test does
// something else.
func (d *scripted) answersOne(t *testing.T, method, result string) {
	d.wg.Go(func() {
		for {
			select {
			case h := <-d.heard:
				if h.Method == method {
					h.answer(t, result)
					return
				}
			case <-d.stopped:
				return
			}
		}
	})
}

// next is the next message of that method; the others before it are dropped.
func (d *scripted) next(t *testing.T, method string) heard {
	t.Helper()
	limit := time.After(deadMan)
	for {
		select {
		case h := <-d.heard:
			if h.Method == method {
				return h
			}
		case <-limit:
			t.Fatalf("the daemon heard no %s; so far: %s", method, d.journal.all())
		}
	}
}

// agent is the other end of the server's stdio, by hand.
type agent struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error // what Run returned
}

// notingWriter notes each answer of a tool once the reader has it.
type notingWriter struct {
	io.Writer
	journal *journal
}

func (w notingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if strings.Contains(string(p), `"content":`) {
		w.journal.note("written")
	}
	return n, err
}

func start(t *testing.T, o Options, tm times, j *journal) *agent {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	a := &agent{t: t, in: inW, lines: make(chan string, 1000), done: make(chan error, 1)}
	o.In, o.Out, o.Version = inR, notingWriter{outW, j}, "v0.0.0-test"
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		a.done <- run(ctx, o, tm)
		_ = outW.Close()
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(a.lines)
		in := bufio.NewReader(outR)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			a.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		cancel()
		<-read
	})
	return a
}

func (a *agent) send(line string) {
	a.t.Helper()
	if _, err := io.WriteString(a.in, line+"\n"); err != nil {
		a.t.Fatal(err)
	}
}

// next is the server's next line.
func (a *agent) next() string {
	a.t.Helper()
	select {
	case line, ok := <-a.lines:
		if !ok {
			a.t.Fatal("the server has ended")
		}
		return line
	case <-time.After(deadMan):
		a.t.Fatal("no line of the server")
	}
	return ""
}

// hello is the handshake of an agent of that name.
func (a *agent) hello(name, version string) {
	a.t.Helper()
	a.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%q,"version":%q}}}`, name, version))
	if line := a.next(); !strings.Contains(line, `"id":"hello"`) || !strings.Contains(line, `"result"`) {
		a.t.Fatalf("initialize: %s", line)
	}
	a.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// answer is the text and isError of a line that answers a tools/call.
func (a *agent) answer() (id, text string, isError bool) {
	a.t.Helper()
	line := a.next()
	var m struct {
		ID     json.RawMessage
		Result struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || len(m.Result.Content) != 1 || m.Result.Content[0].Type != "text" {
		a.t.Fatalf("no answer with one text: %s", line)
	}
	return string(m.ID), m.Result.Content[0].Text, m.Result.IsError
}

// patient waits for all that comes; a test shortens what it wants to see fail.
var patient = times{progress: deadMan, connect: deadMan, leave: deadMan, ask: deadMan, alive: deadMan}

// world is a server with a scripted daemon.
func world(t *testing.T, token string, tm times) (*agent, *scripted, *journal) {
	t.Helper()
	socket, j := socketPath(t), &journal{}
	d := listen(t, socket, j)
	return start(t, Options{Socket: socket, Token: token, Cwd: "/here", Env: map[string]string{"A": "b"}}, tm, j), d, j
}
