package server

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"sidetask/config"
)

// only connection of a wire.
func (w *wire) conn() *conn {
	w.t.Helper()
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	for c := range w.server.conns {
		return c
	}
	w.t.Fatal("no connection")
	return nil
}

// TestBellIsNotQueued: a client that takes nothing for a while finds the newest
// of each notification that replaces the one before it, not all of them.
func TestBellIsNotQueued(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	for i := range 10 { // more than the socket's buffers take
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"big"}`, i))
	}
	if line := p.line(); !strings.Contains(line, `"id":0`) {
		t.Fatalf("got %.40s", line)
	}
	c := w.conn()
	if err := c.out.await(t.Context(), func() bool { return len(c.out.queue) >= 3 }); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		c.raise("bell", "bell", map[string]int{"count": i})
		c.raise("other", "other", struct{}{})
	}
	c.notify("last", struct{}{})
	bells, others := 0, 0
	for newest := false; !newest || others == 0; {
		switch line := p.line(); { // answers come in between
		case strings.Contains(line, `"method":"bell"`):
			bells++
			newest = strings.Contains(line, `"count":999`)
		case strings.Contains(line, `"method":"other"`):
			others++
		}
	}
	if bells > 10 || others > 10 {
		t.Errorf("%d bells and %d others have been written", bells, others)
	}
}

// TestReadAhead: while a call is busy, requests queue up to a bound and then
// wait in the socket; none is lost, the order stays.
func TestReadAhead(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	p.send(`{"jsonrpc":"2.0","id":"first","method":"block"}`)
	<-w.blocking
	const calls = 36_000 // 1.6 MiB
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		var b strings.Builder
		for i := range calls {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"echo"}`, i)
		}
		_, _ = io.WriteString(p.nc, b.String())
	}()
	c := w.conn()
	if err := c.await(t.Context(), func() bool { return c.pendingBytes > maxPendingBytes-2*callBytes }); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	ahead := c.pendingBytes
	c.mu.Unlock()
	if ahead > maxPendingBytes {
		t.Errorf("%d bytes are read ahead", ahead)
	}
	select {
	case <-sent:
		t.Error("all was taken though nothing can start")
	default:
	}
	close(w.release)
	p.want(`{"jsonrpc":"2.0","id":"first","result":"done"}`)
	for i := range calls {
		p.want(ok(fmt.Sprint(i)))
	}
}

// TestReadAheadOfMistakes: what is no request is answered in its turn, and so is
// read ahead to the same bound.
func TestReadAheadOfMistakes(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	p.send(`{"jsonrpc":"2.0","id":"first","method":"block"}`)
	<-w.blocking
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(p.nc, strings.Repeat("1 ", 1<<20)) // it ends with the connection
	}()
	c := w.conn()
	if err := c.await(t.Context(), func() bool { return len(c.pending) >= maxPendingBytes/callBytes }); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	if len(c.pending) > maxPendingBytes/callBytes {
		t.Errorf("%d mistakes are read ahead", len(c.pending))
	}
	c.mu.Unlock()
	_ = p.nc.Close()
	close(w.release)
	<-sent
}

// TestCloseIsBounded: waits are ended and answered, a client that takes
// nothing does not hold the end up longer than it may.
func TestCloseIsBounded(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	waiting, stuck := w.dial(), w.dial()
	waiting.send(holdCall("1") + call1("2"))
	waiting.want(ok("2"))
	for i := range 10 {
		stuck.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"big"}`, i))
	}
	if line := stuck.line(); !strings.Contains(line, `"id":0`) {
		t.Fatalf("got %.40s", line)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- w.server.Close(ctx) }()
	waiting.want(oneAnswer + `"error":{"code":-32007,"message":"the daemon is shutting down","data":{"kind":"shuttingDown"}}}`)
	waiting.wantEnd()
	cancel() // as far as it may go on
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
}
