package wire

import (
	"strings"
	"testing"
)

// A streamed answer is told by what stands at its ends.
func TestOutline(t *testing.T) {
	long := strings.Repeat(`x,\"id\":8}`, 20000)
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn","_meta":{"t":"` + long + `"}}}`, `{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"}}`},
		{` { "result" : {"a":[1],"t":"` + long + `"} , "id" : "s\"7" } `, `{"jsonrpc":"2.0","id":"s\"7","result":{"a":[1]}}`},
		{`{"result":{"t":"` + long + `"},"id":-7,"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":-7,"result":{}}`},
		{`{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"` + long + `"}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-1}}`},
		{`{"result":"` + long + `","id":7}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{`{"result":{"sessionId":"s"},"_meta":"` + long + `","id":7}`, `{"jsonrpc":"2.0","id":7,"result":{"sessionId":"s"}}`},
		{`{"id":` + strings.Repeat("7", 200000) + `,"result":{}}`, ``},
		{`{"jsonrpc":"2.0","id":7,"params":{"result":"` + long + `"},"method":"x"}`, ``},
		{`{"jsonrpc":"2.0","method":"x","id":7,"result":"` + long + `"}`, ``},
		{`{"result":{"t":"` + long + `","id":7}}`, ``},
		{`{"result":{"t":"` + long + `"},"id":7,"_meta":{"` + long + `":1}}`, ``},
	} {
		for _, size := range []int{blockSize, 1000, 7} {
			var o Outline
			for rest := c.line + "\n"; rest != ""; rest = rest[min(size, len(rest)):] {
				o.Add([]byte(rest[:min(size, len(rest))]))
			}
			if got := strings.TrimSuffix(string(o.Answer()), "\n"); got != c.want {
				t.Errorf("%.80s in pieces of %d: got %.200q, want %q", c.line, size, got, c.want)
			}
		}
	}
}
