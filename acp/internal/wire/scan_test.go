package wire

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	for _, c := range []struct {
		line                              string
		id, method, params, result, fault string
	}{
		{line: `{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":[1,{"c":"}"}]}}`, id: `1`, method: `"a"`, params: `{"b":[1,{"c":"}"}]}`},
		{line: ` { "params" : null , "method":"a","id" : "\u00e9\"" } ` + "\r\n", id: `"\u00e9\""`, method: `"a"`, params: `null`},
		{line: `{"id":12345678901234567890,"result":-0.1e+9}`, id: `12345678901234567890`, result: `-0.1e+9`},
		{line: `{"id":0,"result":true,"id":"0"}`, id: `"0"`, result: `true`}, // the last one counts
		{line: `{"\u0069d":7,"error":{}}`, id: `7`, fault: `{}`},
		{line: `{"id":1,"result":"\\"}`, id: `1`, result: `"\\"`},
		{line: "{\"id\":1,\"result\":\"a\u2028b\"}", id: `1`, result: "\"a\u2028b\""},
		{line: `{}`},
	} {
		e, ok := Scan([]byte(c.line))
		if !ok {
			t.Errorf("Scan(%s): not understood", c.line)
			continue
		}
		for _, f := range []struct {
			name string
			got  Span
			want string
		}{{"id", e.ID, c.id}, {"method", e.Method, c.method}, {"params", e.Params, c.params}, {"result", e.Result, c.result}, {"error", e.Error, c.fault}} {
			if got := string(f.got.Of([]byte(c.line))); got != f.want {
				t.Errorf("Scan(%s): %s = %s, want %s", c.line, f.name, got, f.want)
			}
		}
	}
}

// What lies in params is found as a parser finds it: the last one counts, and
// nothing in what is no object.
func TestScanUpdate(t *testing.T) {
	for _, c := range []struct{ line, session, update, kind string }{
		{`{"params":{"sessionId":"s","update":{"sessionUpdate":"plan","a":[{}]}}}`, `"s"`, `{"sessionUpdate":"plan","a":[{}]}`, `"plan"`},
		{`{"params" : { "update" : {"sessionUpdate":1, "session\u0055pdate":2} , "session\u0049d" : "\"" } }`, `"\""`, `{"sessionUpdate":1, "session\u0055pdate":2}`, `2`},
		{`{"params":{"sessionId":1,"update":{"sessionUpdate":"a"},"sessionId":2,"update":"b"}}`, `2`, `"b"`, ``},
		{`{"params":{"sessionId":1,"update":{}},"params":{"update":{"x":1}}}`, ``, `{"x":1}`, ``},
		{`{"params":{"sessionId":"s","update":{"sessionUpdate":"a" "b"}}}`, `"s"`, `{"sessionUpdate":"a" "b"}`, ``},
		{`{"params":{"sessionId":"s","update":{"sessionUpdate":"a"},}}`, ``, ``, ``},
		{`{"params":["sessionId"],"id":1}`, ``, ``, ``},
	} {
		e, ok := Scan([]byte(c.line))
		if !ok {
			t.Errorf("Scan(%s): not understood", c.line)
		}
		for _, f := range []struct {
			name string
			got  Span
			want string
		}{{"session", e.Session, c.session}, {"update", e.Update, c.update}, {"kind", e.Kind, c.kind}} {
			if got := string(f.got.Of([]byte(c.line))); got != f.want {
				t.Errorf("Scan(%s): %s = %s, want %s", c.line, f.name, got, f.want)
			}
		}
	}
}

// What is no message goes to stderr (ACP.md §1, §7).
func TestScanRefuses(t *testing.T) {
	for _, line := range []string{
		"", " ", "{", "}", "[warn] a log line", `  "pretty": true`, `{"a":1`, `{"a":1}{`, `{"a":1} x`, `[{"id":1}]`, `{"a":}`,
		`{"a" 1}`, `{"a":1,}`, `{,"a":1}`, `{a:1}`, `{"a":"}`, `{"a":"\"}`, `{"a":[}`, `{"a":1 2}`, `"id"`, `null`, "{\"a\"", "{\"a\":",
	} {
		if e, ok := Scan([]byte(line)); ok {
			t.Errorf("Scan(%q) = %+v, want it refused", line, e)
		}
	}
}

// TestKey: ids are compared as typed raw JSON (ACP.md §1).
func TestKey(t *testing.T) {
	same := [][2]string{{`1`, `1`}, {`"é"`, `"\u00e9"`}, {`"a/b"`, `"a\/b"`}, {`12345678901234567890`, `12345678901234567890`}}
	for _, c := range same {
		if Key([]byte(c[0])) != Key([]byte(c[1])) {
			t.Errorf("ids %s and %s differ", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{`1`, `"1"`}, {`0`, `-0`}, {`""`, `null`}, {`12345678901234567890`, `12345678901234567891`}} {
		if Key([]byte(c[0])) == Key([]byte(c[1])) {
			t.Errorf("ids %s and %s are the same", c[0], c[1])
		}
	}
}

// Nesting costs neither memory nor stack.
func TestScanDeep(t *testing.T) {
	deep := `{"id":1,"params":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`
	if _, ok := Scan([]byte(deep)); !ok {
		t.Error("a deep message is not understood")
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"m","params":{"a":"\\\""}}`, `{"id":"\u0031","result":[]}`, `{"a":1,"a":2,"error":{"code":1}}`, `{"params":{"sessionId":1,"update":{"sessionUpdate":2}}}`, "{", `{"x":"` + "\u2028" + `"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := Scan(line)
		var want map[string]json.RawMessage
		if err := json.Unmarshal(line, &want); err != nil || want == nil {
			return // it may be more lenient than a parser, deep down, but must not panic
		}
		if !ok {
			t.Fatalf("not understood, though valid: %q", line)
		}
		var params, update map[string]json.RawMessage
		_ = json.Unmarshal(want["params"], &params)
		_ = json.Unmarshal(params["update"], &update)
		want["session"], want["update"], want["kind"] = params["sessionId"], params["update"], update["sessionUpdate"]
		for name, got := range map[string]Span{"session": e.Session, "update": e.Update, "kind": e.Kind, "id": e.ID, "method": e.Method, "params": e.Params, "result": e.Result, "error": e.Error} {
			if string(got.Of(line)) != string(want[name]) {
				t.Errorf("%s of %q = %q, want %q", name, line, got.Of(line), want[name])
			}
		}
	})
}
