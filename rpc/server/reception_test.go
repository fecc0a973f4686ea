package server

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetask/config"
	"sidetask/rpc"
)

// half is a message of that size without its end.
func half(size int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"p":"` + strings.Repeat("x", size)
}

// TestHalfMessageStandsStill: what is not finished in time is given up, and
// said so; silence between two messages is nobody's concern.
func TestHalfMessageStandsStill(t *testing.T) {
	w := newWire(t, config.Limits{}, 100*time.Millisecond)
	quiet := w.dial()
	quiet.send(call1("1"))
	quiet.want(ok("1"))
	for _, size := range []int{0, 10, 2 * smallMessage} {
		p := w.dial()
		_, _ = io.WriteString(p.nc, half(size)) // given up before it was all sent, if that took long
		p.want(nullAnswer + `"error":{"code":-32600,"message":"a message was not finished in time; the connection is closed"}}`)
		p.wantEnd()
	}
	if len(w.server.large) != 0 {
		t.Errorf("%d places of large messages are still taken", len(w.server.large))
	}
	quiet.send(call1("2") + "\n" + strings.Repeat(" ", 100))
	quiet.want(ok("2"))
}

// TestLargeMessageInDrops: one that takes a place from others has its time as a
// whole, whatever goes on coming.
func TestLargeMessageInDrops(t *testing.T) {
	w := newWire(t, config.Limits{}, 100*time.Millisecond)
	p := w.dial()
	go func() {
		_, err := io.WriteString(p.nc, half(2*smallMessage))
		for err == nil {
			_, err = io.WriteString(p.nc, "x")
		}
	}()
	p.want(nullAnswer + `"error":{"code":-32600,"message":"a message was not finished in time; the connection is closed"}}`)
}

// TestHalfMessagesAreBounded: of all connections together only a few large
// messages are in the making; the next waits for a place, and small ones for none.
func TestHalfMessagesAreBounded(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	small, late := w.dial(), w.dial()
	var hostile []*peer
	for range maxLarge {
		p := w.dial()
		p.send(half(2 * smallMessage))
		hostile = append(hostile, p)
	}
	ping := func() {
		small.send(call1("1"))
		small.want(ok("1"))
	}
	for len(w.server.large) < maxLarge {
		ping()
	}
	go func() { _, _ = io.WriteString(late.nc, half(2*smallMessage)+`"}}`) }()
	for range 100 {
		ping()
	}
	if len(w.server.large) != maxLarge {
		t.Errorf("%d large messages are in the making", len(w.server.large))
	}
	_ = hostile[0].nc.Close()
	if got := late.line(); !strings.HasPrefix(got, oneAnswer+`"result"`) {
		t.Errorf("the waiting message: %.80s", got)
	}
	late.send(half(2*smallMessage) + `"}}`) // its place is free again
	if got := late.line(); !strings.HasPrefix(got, oneAnswer+`"result"`) {
		t.Errorf("the next message: %.80s", got)
	}
}

// TestCloseWithHalfMessages: those that wait for a place, too, do not hold up the end.
func TestCloseWithHalfMessages(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	for range maxLarge + 2 {
		p := w.dial()
		go func() { _, _ = io.WriteString(p.nc, half(2*smallMessage)) }()
	}
	ping := w.dial()
	for len(w.server.large) < maxLarge {
		ping.send(call1("1"))
		ping.want(ok("1"))
	}
	if err := w.server.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPieces: a growing message costs little more than its length, and comes out as it went in.
func TestPieces(t *testing.T) {
	for _, step := range []int{1, 1000, readBuffer} {
		p := pieces{pool: new(sync.Pool)}
		var want []byte
		for len(want) < rpc.DefaultMaxMessageBytes/8 {
			data := bytes.Repeat([]byte{byte(len(want))}, step)
			want = append(want, data...)
			p.add(data)
			held := cap(p.last)
			for _, piece := range p.full {
				held += cap(piece)
			}
			if held > 2*len(want)+512 || held > len(want)+maxPiece {
				t.Fatalf("%d bytes are held for %d", held, len(want))
			}
		}
		if got := p.whole(); !bytes.Equal(got, want) || p.size != 0 {
			t.Errorf("steps of %d: other bytes", step)
		} else if p.add(bytes.Repeat([]byte{1}, len(want))); !bytes.Equal(got, want) {
			t.Errorf("steps of %d: the next message is in this one's bytes", step)
		}
		p.drop()
	}
}
