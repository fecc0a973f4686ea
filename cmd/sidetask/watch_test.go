package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// TestBoardForgetsWithTheDaemon: a daemon that has no tasks leaves none on the
// list, whatever the last one had.
func TestBoardForgetsWithTheDaemon(t *testing.T) {
	var b board
	b.apply(change{reset: true, set: []rpc.Task{{ID: "bash-1"}}})
	b.apply(change{reset: true})
	if left := b.list(); len(left) != 0 {
		t.Errorf("still shown: %+v", left)
	}
	b.apply(change{changed: &rpc.Task{ID: "bash-2"}})
	if now := b.list(); len(now) != 1 || now[0].ID != "bash-2" {
		t.Errorf("shown: %+v, want bash-2 alone", now)
	}
}

// TestNewsComesAfterTheState: what changed since a subscription began is not
// overwritten by the state at its beginning. Here the change is in the handler
// before that state is on its way.
func TestNewsComesAfterTheState(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	news, handling := &feed{changes: make(chan change)}, make(chan struct{})
	scriptedDaemon(t, socket, func(conn *scriptedConn, method string) (any, bool) {
		if method == rpc.MethodInitialize {
			return rpc.Initialized{ProtocolVersion: rpc.Version}, false
		}
		conn.notify(rpc.NotifyTaskChanged, rpc.TaskChanged{Seq: 2, Task: rpc.Task{ID: "bash-1", Status: rpc.StatusCompleted}})
		<-handling
		return rpc.TaskSubscribed{Seq: 1, Tasks: []rpc.Task{{ID: "bash-1", Status: rpc.StatusRunning}}}, false
	})
	keeper := client.Keep(client.KeeperOptions{
		Options: client.Options{
			Socket: socket,
			Handle: func(ctx context.Context, c *client.Client, method string, params json.RawMessage) (any, error) {
				close(handling)
				return news.handle(ctx, c, method, params)
			},
		},
		OnConnect: news.subscribe,
	})
	defer func() { _ = keeper.Close() }()
	if first := <-news.changes; !first.reset {
		t.Errorf("first came %+v, want the state", first)
	}
	<-news.changes
}
