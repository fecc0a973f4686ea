package main

import (
	"encoding/json"
	"net"
	"testing"

	"sidetask/rpc"
)

// scriptedDaemon serves one connection on the socket and does what no real daemon
// can be made to do at will. respond gives the result of a method, or an
// [*rpc.Error]; it may notify before that. After an answer that is the last, and at
// the latest with the test, the connection ends, of which the channel tells.
func scriptedDaemon(t *testing.T, socket string, respond func(conn *scriptedConn, method string) (result any, last bool)) <-chan struct{} {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		c := &scriptedConn{json.NewEncoder(conn)}
		for requests := json.NewDecoder(conn); ; {
			var request struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if requests.Decode(&request) != nil {
				return
			}
			answer := map[string]any{"jsonrpc": "2.0", "id": request.ID}
			result, last := respond(c, request.Method)
			if _, failed := result.(*rpc.Error); failed {
				answer["error"] = result
			} else {
				answer["result"] = result
			}
			if c.Encode(answer) != nil || last {
				return
			}
		}
	}()
	return ended
}

// scriptedConn is the daemon's end of the connection.
type scriptedConn struct{ *json.Encoder }

func (c *scriptedConn) notify(method string, params any) {
	_ = c.Encode(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}
