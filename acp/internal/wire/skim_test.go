package wire

import (
	"strings"
	"testing"
)

// Of a streamed line the envelope is known, wherever its parts lie.
func TestSkim(t *testing.T) {
	long := strings.Repeat(`x,\"id\":8}`, 20000)
	for _, c := range []struct{ line, want string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn","_meta":{"t":"` + long + `"}}}`, `{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn","_meta":{"t":[]}}}`},
		{` { "result" : {"a":[1,["]"]],"t":"` + long + `"} , "id" : "s\"7" } `, `{ "result" : {"a":[],"t":[]} , "id" : "s\"7" }`},
		{`{"result":{"t":"` + long + `"},"id":-7,"_meta":{"` + strings.Repeat("y", 1000) + `":1}}`, `{"result":{"t":[]},"id":-7,"_meta":{"` + strings.Repeat("y", 1000) + `":1}}`},
		{`{"result":"` + long + `","id":7}`, `{"result":[],"id":7}`},
		{`{"a":{"b":{"c":{"d":{"e":1},"f":"}"},"g":2}},"method":"x"}`, `{"a":{"b":{"c":{},"g":2}},"method":"x"}`},
		{`{"params":{"prompt":[{"type":"image","data":"` + long + `"},{}],"sessionId":"s"},"method":"session/prompt","id":1}`, `{"params":{"prompt":[],"sessionId":"s"},"method":"session/prompt","id":1}`},
		{`{"id":` + strings.Repeat("7", 200000) + `,"result":{}}`, ``},
		{`{"id":1,"result":{"x":"` + long, ``},
		{`]{"id":1}`, ``},
	} {
		for _, size := range []int{blockSize, 1000, 7, 1} {
			var s Skim
			for rest := c.line + "\n"; rest != ""; rest = rest[min(size, len(rest)):] {
				s.Add([]byte(rest[:min(size, len(rest))]))
			}
			if got := strings.TrimSuffix(string(s.Short()), "\n"); got != c.want {
				t.Errorf("%.80s in pieces of %d: got %.200q, want %q", c.line, size, got, c.want)
			}
		}
	}
}

// What has come of a line so far is known, too.
func TestSkimSoFar(t *testing.T) {
	for _, c := range []struct{ line, want, within string }{
		{`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"text":"abc`, `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}`, "params"},
		{`{"params":{"prompt":[{"text":"abc`, ``, "params"},
		{`{"a":{"b":{"c":1,"d":2}},"e":"f`, `{"a":{"b":{"c":1,"d":2}}}`, "e"},
		{`{"id":1,"method":"x`, `{"id":1}`, "method"},
		{`{ "result" : {"a":{"b":1},"c":[{"d":1},{"e`, `{ "result" : {"a":{"b":1}}}`, "result"},
		{`{"id":1,"res`, `{"id":1}`, ""},
		{`{"resultX:":"y`, ``, ""},
		{`[1,2`, ``, ""},
	} {
		var s Skim
		s.Add([]byte(c.line))
		if got := strings.TrimSuffix(string(s.SoFar()), "\n"); got != c.want {
			t.Errorf("%s: got %s, want %s", c.line, got, c.want)
		}
		if got := s.Within(); got != c.within {
			t.Errorf("%s: within %q, want %q", c.line, got, c.within)
		}
	}
}
