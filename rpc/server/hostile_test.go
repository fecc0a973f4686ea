package server

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetask/rpc"
)

// TestHostileClients: nothing that a client sends may stop the daemon, block
// another client, or leave anything behind (API.md): any method with any
// parameters, in any order, ended in any way. goleak looks for what is left.
func TestHostileClients(t *testing.T) {
	g := newRig(t, "[limits]\nmaxConcurrentTasksPerOwner = 50\n")
	host := g.host(tokenB, "healthy")
	methods := slices.DeleteFunc(slices.Clone(g.server.names), func(m string) bool {
		return strings.HasPrefix(m, "daemon/") || m == rpc.MethodMountAttach // the rig's own mount must go on serving
	})
	methods = append(methods, "tools/delivered", "$/cancel_request", "nope")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 6 {
				abuse(t, r, g.path, methods)
			}
		})
	}
	group.Wait()
	host.call("tools/list", args{}, nil)
	if got := g.dial().tool(tokenB, "task_list", args{}); len(got.Content) != 1 {
		t.Errorf("a healthy client gets %+v", got)
	}
}

// abuse is the life of one hostile client.
func abuse(t *testing.T, r *rand.Rand, path string, methods []string) {
	nc, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Error(err)
		return
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(deadMan))
	taken := make(chan struct{})
	go func() { // it answers the daemon's requests with rubbish, or takes nothing for a while
		defer close(taken)
		lines := bufio.NewReader(nc)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if strings.Contains(line, `"method":"policy`) || strings.Contains(line, `"method":"task/cancel"`) {
				_, _ = io.WriteString(nc, `{"jsonrpc":"2.0","id":1,"result":{"decision":[1]}}`)
			}
		}
	}()
	for i := range 40 {
		if _, err := io.WriteString(nc, rubbish(r, methods, i)); err != nil {
			break
		}
	}
	if r.IntN(2) == 0 {
		_ = nc.CloseWrite()
	}
	if r.IntN(3) > 0 {
		_ = nc.Close()
	}
	_ = nc.SetDeadline(time.Now().Add(time.Duration(r.IntN(50)) * time.Millisecond))
	<-taken
}

// rubbish is one message, now and then with a mistake in it.
func rubbish(r *rand.Rand, methods []string, id int) string {
	values := []string{
		`"` + tokenA + `"`, `"` + tokenA + `"`, `"job-1"`, `"bash-1"`, `"/"`, `"/x"`, `"s"`, `true`, `null`, `1`, `-1`, `0.5`, `1e999`, `[]`, `{}`, `["pre","post"]`,
		`"` + strings.Repeat("x", r.IntN(300)) + `"`, `"job"`, `"completed"`, `"user"`, `"wake"`, `"task_output"`, `{"task_id":"job-1","wait":true}`, `"start"`, `"end"`, `50`,
	}
	fields := []string{
		"token", "id", "session", "agent", "scope", "stages", "tools", "kind", "label", "stream", "text", "status", "detail", "output", "key", "command", "reason", "lease",
		"timeoutMs", "wait", "follow", "offset", "maxBytes", "name", "arguments", "requestId", "takeover", "fresh", "settings", "limit", "after", "all", "since", "take",
	}
	var params []string
	for range r.IntN(8) {
		params = append(params, fmt.Sprintf("%q:%s", fields[r.IntN(len(fields))], values[r.IntN(len(values))]))
	}
	if r.IntN(2) == 0 { // often enough something that works
		params = append(params, `"token":"`+tokenA+`"`, `"id":"job-1"`, `"kind":"job"`, `"label":"l"`, `"timeoutMs":50`)
	}
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, methods[r.IntN(len(methods))], strings.Join(params, ","))
	switch r.IntN(12) {
	case 0:
		return message[:r.IntN(len(message))] + "\n"
	case 1:
		return "[" + message + "]\n"
	case 2:
		return strings.Repeat("[", 50) + "\n"
	}
	return message + "\n"
}
