package mcp

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sidetask/rpc"
)

// moody is a daemon that does with each call what its task_id says: "answer",
// "hang" (until it is cancelled) or "die" (the connection ends).
type moody struct {
	mu        sync.Mutex // guards what follows
	delivered map[string]int
	conns     []net.Conn
}

func (d *moody) serve(c net.Conn, number int) {
	defer func() { _ = c.Close() }()
	dec := json.NewDecoder(c)
	for {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				ID        json.RawMessage // of tools/delivered
				RequestID json.RawMessage // of $/cancel_request
				Arguments struct {
					TaskID string `json:"task_id"`
				}
			}
		}
		if dec.Decode(&m) != nil {
			return
		}
		switch {
		case m.Method == rpc.MethodInitialize:
			_, _ = fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"server":{"name":"moody","version":"1"},"capabilities":{"methods":[]}}}`+"\n", m.ID)
		case m.Method == rpc.NotifyToolsDelivered:
			d.mu.Lock()
			d.delivered[fmt.Sprintf("%d/%s", number, m.Params.ID)]++
			d.mu.Unlock()
		case m.Method == rpc.NotifyCancelRequest:
			_, _ = fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32800,"message":"wait aborted"}}`+"\n", m.Params.RequestID)
		case m.Params.Arguments.TaskID == "die":
			return
		case m.Params.Arguments.TaskID == "answer":
			_, _ = fmt.Fprintf(c, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, text(fmt.Sprintf("%d/%s", number, m.ID)))
		}
	}
}

func (d *moody) run(l net.Listener) (stop func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.mu.Lock()
			d.conns = append(d.conns, c)
			d.mu.Unlock()
			wg.Go(func() { d.serve(c, n) })
		}
	})
	return func() {
		_ = l.Close()
		d.mu.Lock()
		for _, c := range d.conns {
			_ = c.Close()
		}
		d.mu.Unlock()
		wg.Wait()
	}
}

// Whatever the interleaving of calls, cancellations and deaths of the daemon:
// each call is answered once, but for those that the agent has cancelled, and
// only what the agent has got is said to be delivered, once.
func TestStorm(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		socket := socketPath(t)
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		d := &moody{delivered: make(map[string]int)}
		stop := d.run(l)
		defer stop()
		a := start(t, Options{Socket: socket, Token: "t"}, patient, &journal{})
		a.hello("storm", "1")

		cancelled := make(map[int]bool)
		var hanging []int
		calls := rapid.IntRange(1, 40).Draw(rt, "calls")
		for id := range calls {
			what := rapid.SampledFrom([]string{"answer", "answer", "answer", "hang", "die"}).Draw(rt, "what")
			a.send(call(strconv.Itoa(id), "task_output", fmt.Sprintf(`{"task_id":%q}`, what)))
			if what == "hang" {
				hanging = append(hanging, id)
			}
			if rapid.Bool().Draw(rt, "cancel one") && id > 0 {
				n := rapid.IntRange(0, id-1).Draw(rt, "which") // perhaps answered long ago
				cancelled[n] = true
				a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, n))
			}
		}
		for _, id := range hanging {
			cancelled[id] = true
			a.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		}

		answers, got := make(map[int]int), make(map[string]bool)
		for missing := calls - len(cancelled); missing > 0; {
			id, text, isError := a.answer()
			n, err := strconv.Atoi(id)
			if err != nil {
				rt.Fatalf("id %s", id)
			}
			answers[n]++
			if !cancelled[n] {
				missing--
			}
			if !isError {
				got[text] = true
			}
		}
		_ = a.in.Close()
		if err := <-a.done; err != nil {
			rt.Errorf("Run: %v", err)
		}
		stop()
		for line := range a.lines { // those of cancelled calls that had been answered
			if !strings.Contains(line, `"result"`) {
				continue
			}
			var m struct {
				ID     int
				Result struct{ Content []struct{ Text string } }
			}
			_ = json.Unmarshal([]byte(line), &m)
			answers[m.ID]++
			got[m.Result.Content[0].Text] = true
		}
		for id := range calls {
			if n := answers[id]; n > 1 || n == 0 && !cancelled[id] {
				rt.Errorf("call %d: %d answers, cancelled %v", id, n, cancelled[id])
			}
		}
		for which, n := range d.delivered {
			if n != 1 || !got[which] {
				rt.Errorf("%s was said to be delivered %d times, and the agent has it: %v", which, n, got[which])
			}
		}
	})
}
