package server

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"sidetask/config"
	"sidetask/rpc"
)

func holdCall(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"hold"}` }

func cancelOf(id string) string {
	return `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + id + `}}`
}

func abortedAnswer(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32800,"message":"wait aborted"}}`
}

// TestOpenCalls: waiting calls run beside each other, the 65th is refused,
// others are still answered; a place is free again when a wait ends.
func TestOpenCalls(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	for i := range rpc.MaxOpenCalls {
		p.send(holdCall(fmt.Sprint(i)))
	}
	p.send(holdCall("64"))
	p.want(`{"jsonrpc":"2.0","id":64,"error":{"code":-32003,"message":"too many open calls","data":{"kind":"limitReached"}}}`)
	p.send(call1(`"between"`))
	p.want(ok(`"between"`))
	p.send(cancelOf("7"))
	p.want(abortedAnswer("7"))
	p.send(holdCall("65") + call1(`"after"`))
	p.want(ok(`"after"`))
	close(w.release)
	for range rpc.MaxOpenCalls {
		if line := p.line(); !strings.Contains(line, `"result":"held"`) {
			t.Fatalf("got %s", line)
		}
	}
}

// TestOrder: a request that need not wait is finished before the next starts;
// one that waits lets it start.
func TestOrder(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"block"}` + call1("2"))
	p.send(cancelOf("99")) // a notification is read all the same
	select {
	case <-w.blocking:
	case <-time.After(deadMan):
		t.Fatal("the first call has not started")
	}
	_ = p.nc.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if line, err := p.in.ReadString('\n'); err == nil {
		t.Fatalf("answered before the call in front was finished: %s", line)
	}
	_ = p.nc.SetReadDeadline(time.Now().Add(deadMan))
	close(w.release)
	p.want(`{"jsonrpc":"2.0","id":1,"result":"done"}`, ok("2"))
}

// TestCancelIsByTheVeryID: ids are compared as they were written.
func TestCancelIsByTheVeryID(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	p.send(holdCall("1") + holdCall(`"1"`) + cancelOf(`"1"`))
	p.want(abortedAnswer(`"1"`))
	p.send(cancelOf("1.0") + call1("2"))
	p.want(ok("2"))
	p.send(cancelOf("1"))
	p.want(abortedAnswer("1"))
}

// TestHalfClose: a client that has ended its input gets its answers, those of
// calls that wait too, then the end.
func TestHalfClose(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	p.send(holdCall("1") + call1("2"))
	if err := p.nc.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	p.want(ok("2"))
	select {
	case id := <-w.aborted:
		t.Fatalf("the wait of call %s was aborted by the half-close", id)
	default:
	}
	close(w.release)
	p.want(`{"jsonrpc":"2.0","id":1,"result":"held"}`)
	p.wantEnd()
	<-w.gone
}

// TestHangup: when the peer is gone its waits are aborted, whether it ended
// its input before or not.
func TestHangup(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	for _, halfFirst := range []bool{true, false} {
		p := w.dial()
		p.send(holdCall("1") + call1("2"))
		p.want(ok("2"))
		if halfFirst {
			if err := p.nc.CloseWrite(); err != nil {
				t.Fatal(err)
			}
		}
		_ = p.nc.Close()
		select {
		case <-w.aborted:
		case <-time.After(deadMan):
			t.Fatalf("half-close first %v: the wait of a peer that is gone goes on", halfFirst)
		}
		<-w.gone
	}
}

// TestUnwrittenAnswers: past 1 MiB of answers that the client does not take no
// new request starts; when it takes them all are answered.
func TestUnwrittenAnswers(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	const calls = 100 // 25 MiB of answers
	go func() {
		for i := range calls {
			_, _ = fmt.Fprintf(p.nc, `{"jsonrpc":"2.0","id":%d,"method":"big"}`, i)
		}
	}()
	first := p.line()
	if !strings.HasPrefix(first, `{"jsonrpc":"2.0","id":0,`) {
		t.Fatalf("got %.40s", first)
	}
	// What has started by now is bounded by 1 MiB, the one that crossed it, and
	// what the kernel's and our test's buffers took.
	if n := w.started.Load(); n > 20 {
		t.Errorf("%d calls have started though their answers are not taken", n)
	}
	for i := 1; i < calls; i++ {
		if line := p.line(); !strings.HasPrefix(line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,`, i)) {
			t.Fatalf("answer %d: %.40s", i, line)
		}
	}
}

// TestSlowClient: one that takes nothing is closed; others do not notice.
func TestSlowClient(t *testing.T) {
	w := newWire(t, config.Limits{}, 300*time.Millisecond)
	slow, other := w.dial(), w.dial()
	var asks strings.Builder
	for i := range 10 {
		fmt.Fprintf(&asks, `{"jsonrpc":"2.0","id":%d,"method":"big"}`, i)
	}
	slow.send(asks.String()) // in one, since it may be closed soon
	other.send(call1("1"))
	other.want(ok("1"))
	select {
	case <-w.gone:
	case <-time.After(deadMan):
		t.Fatal("a client that takes nothing is still connected")
	}
	other.send(call1("2"))
	other.want(ok("2"))
	if _, err := io.Copy(io.Discard, slow.in); err != nil {
		t.Fatal(err) // what was written before is there, then the end
	}
}

// TestAsk: the daemon's own request is answered while a request of the client
// is not finished; an error comes through; an ended input cannot answer.
func TestAsk(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	p := w.dial()
	p.send(`{"jsonrpc":"2.0","id":"a","method":"ask"}`)
	p.want(`{"jsonrpc":"2.0","id":1,"method":"question","params":{}}`)
	p.send(`{"jsonrpc":"2.0","id":1,"result":{"x":1}}`)
	p.want(`{"jsonrpc":"2.0","id":"a","result":{"x":1}}`)
	p.send(`{"jsonrpc":"2.0","id":"b","method":"ask"}`)
	p.want(`{"jsonrpc":"2.0","id":2,"method":"question","params":{}}`)
	p.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}`)
	p.want(`{"jsonrpc":"2.0","id":"b","error":{"code":-1,"message":"no"}}`)
	p.send(`{"jsonrpc":"2.0","id":"c","method":"ask"}`)
	if err := p.nc.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	// Either it was asked before the end was seen, and nobody will answer, or
	// it says so at once.
	line := p.line()
	if !strings.Contains(line, `"method":"question"`) && !strings.Contains(line, errPeerGone.Error()) {
		t.Fatalf("got %s", line)
	}
	_ = p.nc.Close()
	<-w.gone
}
