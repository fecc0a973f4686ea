package server

import (
	"testing"
	"time"
)

// TestWriteNotTaken: while a task does not take its input the connection's other
// calls go on (API.md, Framing), and what was sent goes in in order.
func TestWriteNotTaken(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	c := g.dial()
	c.call("task/start", args{"token": tokenA, "command": "cat", "stdin": true}, nil)
	sent := []string{"one", "two", "three"}
	var replies []<-chan reply
	for _, data := range sent {
		_, r := c.start("task/write", args{"id": "bash-1", "data": data})
		replies = append(replies, r)
	}
	c.call("task/get", args{"id": "bash-1"}, nil)
	for _, want := range sent {
		select {
		case got := <-g.commands.input:
			if got != want {
				t.Errorf("the task got %q, want %q", got, want)
			}
		case <-time.After(deadMan):
			t.Fatal("nothing is written")
		}
	}
	for _, r := range replies {
		if got := c.await(r); got.err != nil {
			t.Error(got.err)
		}
	}
}
