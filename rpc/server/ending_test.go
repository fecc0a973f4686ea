package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"sidetask/rpc"
	"sidetask/tools"
)

// TestTheEndSaysComeAgain pins -32007 (API.md, Errors): what the end of the
// daemon cuts off or refuses has not been done, and its client is told so, for
// tools/call, too. It is no answer for a model.
func TestTheEndSaysComeAgain(t *testing.T) {
	g := newRig(t, "")
	g.host(tokenA, "s")
	worker, model := g.dial(), g.dial()
	worker.registered(args{"token": tokenA, "kind": "k", "label": "l", "stream": true})
	cut := make(map[string]<-chan reply)
	for method, params := range map[string]args{
		"task/wait":  {"token": tokenA, "id": "k-1", "timeoutMs": 60000},
		"inbox/wait": {"token": tokenA}, "task/output": {"token": tokenA, "id": "k-1", "wait": true},
		"tools/call": {"token": tokenA, "name": "task_output", "arguments": args{"task_id": "k-1", "wait": true}},
	} {
		_, cut[method] = model.start(method, params)
	}
	model.call("tools/list", args{}, nil) // in order: they wait by now
	ctx, cancel := context.WithTimeout(t.Context(), deadMan)
	defer cancel()
	g.registry.Shutdown(ctx, false)
	for method, params := range map[string]args{
		"task/start": {"token": tokenA, "command": "x"}, "tools/call ": {"token": tokenA, "name": "task_start", "arguments": args{"command": "x"}},
		"owner/bind": {"token": tokenA, "session": "t"},
	} {
		_, cut[method] = model.start(strings.TrimSpace(method), params)
	}
	for method, answer := range cut {
		if r := model.await(answer); r.err == nil || r.err.Code != rpc.CodeShuttingDown || r.err.Message != "the daemon is shutting down" {
			t.Errorf("%s: %s, %v", method, r.result, r.err)
		}
	}
}

// stuck is a policy that says nothing until it is not waited for any more.
type stuck struct{ asked chan string }

func (s stuck) Pre(ctx context.Context, r tools.PreRequest) (tools.PreAnswer, error) {
	s.asked <- r.Name
	<-ctx.Done()
	return tools.PreAnswer{}, ctx.Err()
}

func (s stuck) Post(ctx context.Context, r tools.PostRequest) (tools.PostAnswer, error) {
	s.asked <- r.Name
	<-ctx.Done()
	return tools.PostAnswer{}, ctx.Err()
}

// TestTheEndStartsNothingTwice: a start that the end of the daemon cuts off is
// made again only where it certainly was not made.
func TestTheEndStartsNothingTwice(t *testing.T) {
	for stage, again := range map[string]bool{"before": true, "after": false} {
		for method, params := range map[string]args{
			"task/start": {"token": tokenA, "command": "x"},
			"tools/call": {"token": tokenA, "name": "task_start", "arguments": args{"command": "x"}},
		} {
			g := newRig(t, "")
			g.host(tokenA, "s")
			model, policy := g.dial(), stuck{make(chan string, 1)}
			detach := g.tools.Attach(policy, tools.Attachment{Scope: "/", Before: again, After: !again, Timeout: time.Hour})
			_, answer := model.start(method, params)
			<-policy.asked
			ctx, cancel := context.WithTimeout(t.Context(), deadMan)
			g.check(g.server.Close(ctx))
			cancel()
			detach()
			r := model.await(answer)
			if got := r.err != nil && r.err.Code == rpc.CodeShuttingDown; got != again || again == (len(g.tasks()) > 0) {
				t.Errorf("%s, %s the start: %s, %v; tasks %+v", method, stage, r.result, r.err, g.tasks())
			}
		}
	}
}

// TestTheEndOfASubscriber: who follows when the daemon ends was not too slow;
// the rig's log fails the test else.
func TestTheEndOfASubscriber(t *testing.T) {
	g := newRig(t, "")
	c := g.dial()
	c.call("task/subscribe", args{}, nil)
	c.call("tools/list", args{}, nil) // the subscription is followed by now
	ctx, cancel := context.WithTimeout(t.Context(), deadMan)
	defer cancel()
	g.registry.Shutdown(ctx, false)
	g.check(g.server.Close(ctx)) // waits for who follows
}
