package main

import (
	"context"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"sidetask/rpc"
)

// TestLinkTakesCallsAtOnce: an attach tells of a new size while it follows the
// output. (The race detector looks on.)
func TestLinkTakesCallsAtOnce(t *testing.T) {
	scriptedDaemon(t, filepath.Join(atHome(t, ""), "s"), func(_ *scriptedConn, method string) (any, bool) {
		if method == rpc.MethodInitialize {
			return rpc.Initialized{ProtocolVersion: rpc.Version}, false
		}
		return rpc.TaskResult{Task: rpc.Task{ID: "bash-1"}}, false
	})
	p := &program{stdout: io.Discard, stderr: io.Discard, noAutostart: true}
	l, err := p.link(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if task, err := l.get(context.Background(), "bash-1"); err != nil || task.ID != "bash-1" {
				t.Errorf("%+v, %v", task, err)
			}
		})
	}
	calls.Wait()
}
