package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// listen connects to the daemon of a story; told gets a word at each config/changed.
func listen(ts *testscript.TestScript) (c *client.Client, told <-chan bool) {
	changes := make(chan bool, 1000)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	c, err := client.Dial(ctx, client.Options{
		Socket: ts.Getenv("SOCKET"), Name: "story",
		Handle: func(_ context.Context, _ *client.Client, method string, _ json.RawMessage) (any, error) {
			if method == rpc.NotifyConfigChanged {
				changes <- true
			}
			return nil, nil
		},
	})
	ts.Check(err)
	ts.Check(c.Call(ctx, rpc.MethodConfigSubscribe, rpc.Empty{}, nil))
	return c, changes
}

// awaitConfig waits, by config/subscribe, for a state of the configuration.
func awaitConfig(ts *testscript.TestScript, what string, ok func(rpc.ConfigGetResult) bool) rpc.ConfigGetResult {
	c, told := listen(ts)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	for {
		var now rpc.ConfigGetResult
		ts.Check(c.Call(ctx, rpc.MethodConfigGet, rpc.Empty{}, &now))
		if ok(now) {
			return now
		}
		select {
		case <-told:
		case <-ctx.Done():
			ts.Fatalf("never: %s; the state is %+v", what, now.State)
		}
	}
}

// inforce KEY VALUE waits until a setting has a value, as JSON.
func inForce(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: inforce key value")
	}
	awaitConfig(ts, fmt.Sprint(args), func(now rpc.ConfigGetResult) bool {
		return slices.ContainsFunc(now.Settings, func(s rpc.Setting) bool {
			return s.Key == args[0] && bytes.Equal(s.Value, []byte(args[1]))
		})
	})
}

// refused FILE waits until the file is refused as FILE says. (One that is just being
// written may be refused otherwise.)
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refused file")
	}
	want := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	awaitConfig(ts, "refused: "+want, func(now rpc.ConfigGetResult) bool { return strings.Join(now.State.Errors, "\n")+"\n" == want })
}

// mended waits until nothing is wrong any more.
func mended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: mended")
	}
	awaitConfig(ts, "mended", func(now rpc.ConfigGetResult) bool { return len(now.State.Errors) == 0 })
}

// hup sends SIGHUP to the daemon.
func hup(ts *testscript.TestScript, neg bool, args []string) {
	c, _ := listen(ts)
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	var status rpc.DaemonStatus
	ts.Check(c.Call(ctx, rpc.MethodDaemonStatus, rpc.Empty{}, &status))
	ts.Check(syscall.Kill(status.PID, syscall.SIGHUP))
}
