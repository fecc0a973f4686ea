package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

func TestNotificationsInOrder(t *testing.T) {
	const n = 500
	s := newScripted(t)
	seqs := make(chan int64, n)
	handle := func(_ context.Context, _ *client.Client, method string, params json.RawMessage) (any, error) {
		var note rpc.TaskRemoved
		if err := json.Unmarshal(params, &note); err != nil || method != rpc.NotifyTaskRemoved {
			t.Errorf("notification %s %s: %v", method, params, err)
		}
		seqs <- note.Seq
		return nil, nil
	}
	_, p := dial(t, s, client.Options{Handle: handle})
	for i := range n {
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"task/removed","params":{"seq":%d,"id":"bash-1"}}`, i))
	}
	for i := range n {
		if got := within(t, seqs, "notification"); got != int64(i) {
			t.Fatalf("notification %d came as number %d", got, i)
		}
	}
}

func TestRequestsOfTheDaemon(t *testing.T) {
	s := newScripted(t)
	release := make(chan struct{})
	handle := func(ctx context.Context, c *client.Client, method string, _ json.RawMessage) (any, error) {
		switch method {
		case rpc.MethodOwnerResolve:
			<-release // a slow one holds up no other
			return rpc.OwnerResolved{Owner: "o-1"}, nil
		case rpc.MethodTaskCancel:
			return nil, rpc.Errorf(rpc.CodeProducerFailed, "no such job")
		case rpc.MethodPolicyPre:
			return nil, errors.New("what a mess")
		}
		return nil, nil
	}
	_, p := dial(t, s, client.Options{Handle: handle})
	p.write(`{"jsonrpc":"2.0","id":1,"method":"owner/resolve","params":{}}`)
	p.write(`{"jsonrpc":"2.0","id":2,"method":"task/cancel","params":{"id":"job-1"}}`)
	if m := p.read(""); string(m.ID) != "2" || m.Error == nil || m.Error.Code != rpc.CodeProducerFailed || m.Error.Message != "no such job" {
		t.Errorf("task/cancel answered %+v", m)
	}
	p.write(`{"jsonrpc":"2.0","id":3,"method":"policy/pre","params":{}}`)
	if m := p.read(""); string(m.ID) != "3" || m.Error == nil || m.Error.Code != rpc.CodeInternal || m.Error.Message != "what a mess" {
		t.Errorf("policy/pre answered %+v", m)
	}
	p.write(`{"jsonrpc":"2.0","id":4,"method":"policy/post","params":{}}`)
	if m := p.read(""); string(m.ID) != "4" || string(m.Result) != "{}" {
		t.Errorf("policy/post answered %+v", m)
	}
	close(release)
	if m := p.read(""); string(m.ID) != "1" || string(m.Result) != `{"owner":"o-1"}` {
		t.Errorf("owner/resolve answered %+v", m)
	}
}

// What the daemon asks is bounded: a flood is refused, not queued.
func TestRequestsOfTheDaemonBounded(t *testing.T) {
	s := newScripted(t)
	release := make(chan struct{})
	handle := func(context.Context, *client.Client, string, json.RawMessage) (any, error) {
		<-release
		return nil, nil
	}
	_, p := dial(t, s, client.Options{Handle: handle})
	for i := 1; i <= 65; i++ {
		p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"policy/pre"}`, i))
	}
	if m := p.read(""); string(m.ID) != "65" || m.Error == nil || m.Error.Code != rpc.CodeLimitReached {
		t.Errorf("the 65th request was answered %+v, want too many open calls", m)
	}
	close(release)
	for range 64 {
		if m := p.read(""); string(m.Result) != "{}" {
			t.Errorf("answer %+v", m)
		}
	}
}

func TestNoHandler(t *testing.T) {
	s := newScripted(t)
	_, p := dial(t, s, client.Options{})
	p.write(`{"jsonrpc":"2.0","method":"inbox/pending","params":{}}`)
	p.write(`{"jsonrpc":"2.0","id":7,"method":"task/cancel","params":{}}`)
	if m := p.read(""); string(m.ID) != "7" || m.Error == nil || m.Error.Code != rpc.CodeMethodNotFound {
		t.Errorf("answer %+v, want method not found", m)
	}
}

// Close ends handlers by their context and waits for them.
func TestCloseWaitsForHandlers(t *testing.T) {
	s := newScripted(t)
	entered := make(chan struct{}, 2)
	left := make(chan struct{}, 2)
	handle := func(ctx context.Context, _ *client.Client, _ string, _ json.RawMessage) (any, error) {
		entered <- struct{}{}
		<-ctx.Done()
		left <- struct{}{}
		return nil, ctx.Err()
	}
	c, p := dial(t, s, client.Options{Handle: handle})
	p.write(`{"jsonrpc":"2.0","id":1,"method":"task/cancel","params":{}}`)
	p.write(`{"jsonrpc":"2.0","method":"inbox/pending","params":{}}`)
	within(t, entered, "request")
	within(t, entered, "notification")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(left) != 2 {
		t.Errorf("Close returned with %d of 2 handlers ended", len(left))
	}
}
