package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"sidetask/rpc"
)

// An answer has its request's id as that was written: the library would make
// another number of some, and answer null not at all.
func TestIDs(t *testing.T) {
	a := start(t, Options{Socket: socketPath(t), Token: "t"}, patient, &journal{})
	a.hello("x", "1")
	for id, want := range map[string]string{
		`0`: `0`, `-7`: `-7`, `"0"`: `"0"`, `""`: `""`, `1.5`: `1.5`, `1e3`: `1e3`, `"<\u00e9>"`: `"<é>"`,
		`9007199254740993`: `9007199254740993`, `123456789012345678901234567890`: `123456789012345678901234567890`,
		`null`: `null`, `{}`: `null`, `[1]`: `null`, `true`: `null`,
	} {
		a.send(`{"jsonrpc":"2.0","method":"ping","id": ` + id + `, "ID":5}`)
		got := a.next()
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(got), &m); err != nil || string(m["id"]) != want {
			t.Errorf("id %s is answered by %s", id, got)
		}
		if _, refused := m["error"]; refused != (want == `null`) {
			t.Errorf("id %s: %s", id, got)
		}
	}
}

// A cancelled call is found by the id that the library never sees.
func TestCancelByID(t *testing.T) {
	a, d, _ := world(t, "tok", patient)
	a.hello("x", "1")
	for _, id := range []string{`9007199254740993`, `1.5`, `"a"`} {
		a.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"task_list","arguments":{}}}`)
		call := d.next(t, rpc.MethodToolsCall)
		a.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"r"}}`)
		d.next(t, rpc.NotifyCancelRequest)
		call.fail(t, -32800, "cancelled")
	}
	a.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := a.next(); !strings.Contains(got, `"id":2,`) {
		t.Errorf("got %s, want nothing but the answer to the ping", got)
	}
}

// A message that is too long is refused under its id, wherever that stands.
func TestLongIDs(t *testing.T) {
	a := start(t, Options{Socket: socketPath(t), Token: "t"}, patient, &journal{})
	a.hello("x", "1")
	long := `"params":{"id":3,"a":["}\"` + strings.Repeat("x", maxLine) + `"]}`
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call",` + long + `}`:      `1`,
		`{"method":"tools/call",` + long + `,"jsonrpc":"2.0", "id" :"z" }`: `"z"`,
		`{"jsonrpc":"2.0","method":"tools/call",` + long + `}`:             `null`,
		`{"jsonrpc":"2.0","id":1abc,"method":"tools/call",` + long + `}`:   `null`,
		`{"jsonrpc":"2.0","id":5,` + long + `}`:                            `null`,
	} {
		a.send(line)
		if got := a.next(); !strings.Contains(got, `"id":`+want+`,"error":{"code":-32600`) || !json.Valid([]byte(got)) {
			t.Errorf("%.50s: got %s, want the id %s", line, got, want)
		}
	}
}
