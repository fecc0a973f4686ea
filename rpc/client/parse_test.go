package client

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An answer is cut out of its line as the general decoder would.
func TestParse(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":7,"result":{"task":{"id":"bash-1"}}}` + "\n",
		`{"jsonrpc":"2.0","id":7,"result":{}}` + "\r\n",
		`{"jsonrpc":"2.0","id":7,"result":null} `,
		`{"jsonrpc":"2.0","id":7,"result":{"data":",\"result\":"}}`,
		`{"id":7,"result":{},"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"unknown task bash-2"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32003,"message":"full"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"policy/post","params":{"a":1,"result":{}}}`,
		`{"jsonrpc":"2.0","method":"task/changed","params":{"seq":1}}`,
	} {
		var want message
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		want.Version = "" // nobody looks
		got, err := parse([]byte(line))
		got.Version = ""
		if diff := cmp.Diff(want, got, cmp.Transformer("raw", func(m json.RawMessage) string { return string(m) })); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", line, err, diff)
		}
	}
	// A broken result is found by the call that wants it.
	for _, line := range []string{"\n", `{"jsonrpc":"2.0","id":7`, `7 {}`, `nonsense`} {
		if m, err := parse([]byte(line)); err == nil {
			t.Errorf("%q is a message: %+v", line, m)
		}
	}
}
