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
