package server

import (
	"fmt"
	"strings"
	"testing"

	"sidetask/rpc"
)

// TestInputThatNobodyReads: a task/write to a program that does not read blocks
// neither its connection nor what else is written there; it can be cancelled, and what
// is written stays in the order sent.
func TestInputThatNobodyReads(t *testing.T) {
	g := newRig(t, "")
	g.commands.reading = make(chan struct{})
	c := g.dial()
	c.call("task/start", args{"command": "sleep 1000", "stdin": true}, nil)
	ids, writes := make([]string, 4), make([]<-chan reply, 4)
	for i := range writes {
		ids[i], writes[i] = c.start("task/write", args{"id": "bash-1", "data": fmt.Sprint(i)})
	}
	c.call("tools/list", args{}, nil)
	for _, i := range []int{0, 2} { // the one that writes, and one that waits for its turn
		c.notify("$/cancel_request", args{"requestId": rpc.RawID(ids[i])})
		if r := c.await(writes[i]); r.err == nil || r.err.Code != rpc.CodeAborted || r.err.Message != "wait aborted" {
			t.Errorf("write %d: %s, %v", i, r.result, r.err)
		}
	}
	close(g.commands.reading)
	for _, i := range []int{1, 3} {
		if r := c.await(writes[i]); r.err != nil || string(r.result) != `{"written":1}` {
			t.Errorf("write %d: %s, %v", i, r.result, r.err)
		}
	}
	if got := strings.Join(g.commands.taken, ""); got != "13" {
		t.Errorf("the program got %q", got)
	}
}

// TestInputInOrder: any number of writes may be sent ahead to a program that reads.
func TestInputInOrder(t *testing.T) {
	g := newRig(t, "")
	c := g.dial()
	c.call("task/start", args{"command": "cat", "stdin": true}, nil)
	want := ""
	var writes []<-chan reply
	for i := range 3 * rpc.MaxOpenCalls {
		data := fmt.Sprintf("%d\n", i)
		want += data
		_, written := c.start("task/write", args{"id": "bash-1", "data": data})
		writes = append(writes, written)
	}
	for i, written := range writes {
		if r := c.await(written); r.err != nil {
			t.Errorf("write %d: %v", i, r.err)
		}
	}
	if got := strings.Join(g.commands.taken, ""); got != want {
		t.Errorf("the program got %q", got)
	}
}
