package mcp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The library keeps an id as a float or a string, so that 9007199254740993 and
// 1.5 come back as other numbers and their answers are nobody's. So each id goes
// into the library as a string that stands for its text, and comes out as that.

// hidden is the id that stands for the raw one in the library; ok is false for
// what is no id: MCP has strings and numbers.
func hidden(raw []byte) (id jsonrpc.ID, ok bool) {
	if !isID(raw) {
		return jsonrpc.ID{}, false
	}
	if raw[0] == '"' { // "é" and "\u00e9" are one
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return jsonrpc.ID{}, false
		}
		raw = quoted(text)
	}
	id, err := jsonrpc.MakeID(hex.EncodeToString(raw))
	return id, err == nil
}

// shown puts the raw id back into the encoded answer to a request.
func shown(id jsonrpc.ID, answer []byte) []byte {
	text, ok := id.Raw().(string)
	if !ok {
		return answer
	}
	raw, err := hex.DecodeString(text)
	if err != nil {
		return answer
	}
	// It stands before everything that a tool says.
	return bytes.Replace(answer, []byte(`"id":"`+text+`"`), append([]byte(`"id":`), raw...), 1)
}

func isID(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}

// quoted writes a JSON string.
func quoted(text string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string always encodes
	return bytes.TrimSpace(out.Bytes())
}

// maxID bounds the id and the names that are looked at.
const maxID = 64 << 10

// envelope finds the id of a message while its line is read, however long that
// is: an agent that is told of no id waits for ever. It trusts the line to be
// JSON; what it finds in another is not used for more than an error.
type envelope struct {
	id     []byte // as it is written, nil without one
	method bool   // there is one, so this is no answer

	depth    int
	inString bool
	escaped  bool
	key      string
	text     []byte // of the key or value at hand, at depth 1
	nested   bool   // it is no scalar, or too long
}

func (e *envelope) read(part []byte) {
	for _, c := range part {
		e.take(c)
	}
}

func (e *envelope) take(c byte) {
	switch {
	case e.inString:
		e.keep(c)
		switch {
		case e.escaped:
			e.escaped = false
		case c == '\\':
			e.escaped = true
		case c == '"':
			e.inString = false
		}
	case c == '"':
		e.inString = true
		e.keep(c)
	case c == '{' || c == '[':
		e.nested = e.depth > 0
		e.depth++
	case c == '}' || c == ']':
		if e.depth == 1 {
			e.member()
		}
		e.depth--
	case e.depth != 1:
	case c == ':':
		_ = json.Unmarshal(e.text, &e.key) // a name that cannot be read is none
		e.text = e.text[:0]
	case c == ',':
		e.member()
	case c != ' ' && c != '\t' && c != '\r' && c != '\n':
		e.keep(c)
	}
}

func (e *envelope) keep(c byte) {
	if e.depth != 1 {
		return
	}
	if len(e.text) == maxID {
		e.nested = true
		return
	}
	e.text = append(e.text, c)
}

// member ends a member; the last one of a name counts.
func (e *envelope) member() {
	switch e.key {
	case "id":
		e.id = bytes.Clone(e.text)
		if e.nested {
			e.id = []byte{}
		}
	case "method":
		e.method = true
	}
	e.key, e.text, e.nested = "", e.text[:0], false
}
