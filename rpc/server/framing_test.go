package server

import (
	"io"
	"strings"
	"testing"

	"sidetask/config"
	"sidetask/rpc"
)

func ok(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

func call1(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"echo"}` }

const (
	parseError  = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON; input up to the next newline is ignored"}}`
	noBatch     = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: batches are not supported; send the objects one after another"}}`
	noObject    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: not an object"}}`
	noVersion   = `"error":{"code":-32600,"message":"invalid request: \"jsonrpc\" must be \"2.0\""}}`
	noMethod    = `"error":{"code":-32600,"message":"invalid request: \"method\" must be a string"}}`
	badID       = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request: an id is a string, a number or null"}}`
	nullAnswer  = `{"jsonrpc":"2.0","id":null,`
	oneAnswer   = `{"jsonrpc":"2.0","id":1,`
	badParams   = oneAnswer + `"error":{"code":-32602,"message":"invalid params: must be an object"}}`
	afterwards  = `{"jsonrpc":"2.0","id":"end","method":"echo"}`
	endsHealthy = `{"jsonrpc":"2.0","id":"end","result":{}}`
)

// framings pin API.md, Framing: each input, then a good request on a line of
// its own, which must be answered whatever came before.
var framings = map[string]struct {
	in   string
	want []string
}{
	"a line each":             {call1("1") + "\n" + call1("2") + "\n", []string{ok("1"), ok("2")}},
	"no newline between":      {call1("1") + call1("2"), []string{ok("1"), ok("2")}},
	"space and newlines":      {" \t\r\n" + call1("1") + "\r\n\n  " + call1("2"), []string{ok("1"), ok("2")}},
	"pretty-printed":          {"{\n \"jsonrpc\": \"2.0\",\n \"id\": 1,\n \"method\": \"echo\"\n}\n", []string{ok("1")}},
	"a string id":             {call1(`"a\u0062\n\"€"`), []string{ok(`"a\u0062\n\"€"`)}},
	"an integer id":           {call1("0"), []string{ok("0")}},
	"a negative id":           {call1("-1"), []string{ok("-1")}},
	"a fractional id":         {call1("1.50"), []string{ok("1.50")}},
	"an exponent":             {call1("1E+2"), []string{ok("1E+2")}},
	"a huge id":               {call1("123456789012345678901234567890"), []string{ok("123456789012345678901234567890")}},
	"a null id":               {call1("null"), []string{ok("null")}},
	"an empty string id":      {call1(`""`), []string{ok(`""`)}},
	"the same id twice":       {call1("1") + call1("1"), []string{ok("1"), ok("1")}},
	"one and its string":      {call1("1") + call1(`"1"`), []string{ok("1"), ok(`"1"`)}},
	"an object as id":         {call1("{}"), []string{badID}},
	"an array as id":          {call1("[1]"), []string{badID}},
	"true as id":              {call1("true"), []string{badID}},
	"a notification":          {`{"jsonrpc":"2.0","method":"echo"}`, nil},
	"an unknown notification": {`{"jsonrpc":"2.0","method":"nope"}`, nil},
	"an unknown method": {
		`{"jsonrpc":"2.0","id":1,"method":"nope"}`,
		[]string{oneAnswer + `"error":{"code":-32601,"message":"unknown method nope; if this daemon is older than its client: sidetask daemon restart"}}`},
	},
	"an error": {
		`{"jsonrpc":"2.0","id":1,"method":"fail"}`,
		[]string{oneAnswer + `"error":{"code":-32001,"message":"unknown task bash-99","data":{"kind":"unknownTask"}}}`},
	},
	"a method that panics": {
		`{"jsonrpc":"2.0","id":1,"method":"panic"}`,
		[]string{oneAnswer + `"error":{"code":-32603,"message":"internal error in panic; the daemon's log has more"}}`},
	},
	"params as they were": {
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"z":1.0,"a":1e400,"<":"é"}}`,
		[]string{oneAnswer + `"result":{"z":1.0,"a":1e400,"<":"é"}}`},
	},
	"null params":           {`{"jsonrpc":"2.0","id":1,"method":"echo","params":null}`, []string{ok("1")}},
	"not JSON":              {"hello\n", []string{parseError}},
	"not JSON, then good":   {"hello " + call1("1") + "\n" + call1("2") + "\n", []string{parseError, ok("2")}},
	"a bad literal":         {`{"jsonrpc":tru,"id":1}` + "\n", []string{parseError}},
	"a missing comma":       {`{"a":1 "b":2}` + "\n" + call1("2"), []string{parseError, ok("2")}},
	"a wrong bracket":       {`{"a":[1}` + "\n" + call1("2"), []string{parseError, ok("2")}},
	"an open string":        {`{"a":"x` + "\n" + call1("2"), []string{parseError, ok("2")}},
	"a trailing comma":      {`{"a":1,}` + "\n", []string{parseError}},
	"a bare key":            {`{a:1}` + "\n", []string{parseError}},
	"a leading zero":        {call1("01") + "\n", []string{parseError}},
	"a stray bracket":       {"}\n", []string{parseError}},
	"no UTF-8":              {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}\n", []string{parseError}},
	"a byte order mark":     {"\uFEFF" + call1("1") + "\n", []string{parseError}},
	"too deep":              {strings.Repeat("[", maxDepth+1) + "\n", []string{parseError}},
	"deep enough":           {strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + "\n", []string{noBatch}},
	"a batch":               {"[" + call1("1") + "," + call1("2") + "]\n", []string{noBatch}},
	"an empty batch":        {"[]\n", []string{noBatch}},
	"a number":              {"17\n", []string{noObject}},
	"a string":              {`"x"` + "\n", []string{noObject}},
	"an empty object":       {"{}\n", []string{nullAnswer + noVersion}},
	"no version":            {`{"id":1,"method":"echo"}` + "\n", []string{oneAnswer + noVersion}},
	"a wrong version":       {`{"jsonrpc":"1.0","id":1,"method":"echo"}` + "\n", []string{oneAnswer + noVersion}},
	"a version as number":   {`{"jsonrpc":2.0,"id":1,"method":"echo"}` + "\n", []string{oneAnswer + noVersion}},
	"no method":             {`{"jsonrpc":"2.0","id":1}` + "\n", []string{oneAnswer + noMethod}},
	"a method as number":    {`{"jsonrpc":"2.0","id":1,"method":1}` + "\n", []string{oneAnswer + noMethod}},
	"a method as null":      {`{"jsonrpc":"2.0","id":1,"method":null}` + "\n", []string{oneAnswer + noMethod}},
	"an answer to nothing":  {`{"jsonrpc":"2.0","id":99,"result":1}` + `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, nil},
	"cancel of nothing":     {`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}`, nil},
	"cancel without params": {`{"jsonrpc":"2.0","method":"$/cancel_request"}`, nil},
}

func TestFraming(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	for name, c := range framings {
		t.Run(name, func(t *testing.T) {
			p := w.dial()
			p.t = t
			p.send(c.in + "\n" + afterwards)
			p.want(c.want...)
			p.want(endsHealthy)
		})
	}
}

// TestFramingByteByByte: how the bytes are cut says nothing.
func TestFramingByteByByte(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	for name, c := range framings {
		if strings.HasSuffix(name, "deep") || strings.HasPrefix(name, "deep") {
			continue
		}
		p := w.dial()
		go func() {
			for _, b := range []byte(c.in + "\n" + afterwards) {
				if _, err := p.nc.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		p.want(c.want...)
		p.want(endsHealthy)
	}
}

// TestFramingAtTheEnd: what the end of the input cuts is no JSON; a bare
// number is whole.
func TestFramingAtTheEnd(t *testing.T) {
	w := newWire(t, config.Limits{}, deadMan)
	for in, want := range map[string]string{`{"jsonrpc":"2.0"`: parseError, "12": noObject, "1e": parseError, "tru": parseError} {
		p := w.dial()
		p.send(in)
		if err := p.nc.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		p.want(want)
		p.wantEnd()
	}
}

// TestTooLarge: -32009, then the end (API.md, Framing).
func TestTooLarge(t *testing.T) {
	const most = 1000
	w := newWire(t, config.Limits{MaxMessageBytes: most}, deadMan)
	message := func(size int) string {
		const frame = `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"p":""}}`
		return strings.Replace(frame, `""`, `"`+strings.Repeat("x", size-len(frame))+`"`, 1)
	}
	p := w.dial()
	p.send(message(most))
	if got := p.line(); !strings.HasPrefix(got, oneAnswer+`"result"`) {
		t.Errorf("a message of the largest size: %.80s", got)
	}
	p.send(message(most + 1))
	p.want(nullAnswer + `"error":{"code":-32009,"message":"message of more than 1000 bytes (limits.maxMessageBytes)","data":{"kind":"tooLarge"}}}`)
	p.wantEnd()
}

// TestTooLargeByDefault sends 16 MiB and one byte, which nobody reads to its end.
func TestTooLargeByDefault(t *testing.T) {
	w := newWire(t, config.Limits{MaxMessageBytes: rpc.DefaultMaxMessageBytes}, deadMan)
	p := w.dial()
	go func() {
		_, _ = io.WriteString(p.nc, `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"p":"`)
		_, _ = io.WriteString(p.nc, strings.Repeat("x", rpc.DefaultMaxMessageBytes))
	}()
	if got := p.line(); !strings.Contains(got, "-32009") {
		t.Errorf("got %s", got)
	}
}
