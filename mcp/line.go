package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds one message of the agent.
const maxLine = 16 << 20

// line is one line of the agent.
type line struct {
	data []byte
	long bool // longer than maxLine: data is only its beginning
	envelope
}

// readLine reads up to a line feed, of a line that is too long only the
// beginning.
func readLine(in *bufio.Reader) (line, error) {
	var l line
	for {
		part, err := in.ReadSlice('\n')
		l.read(part)
		if l.long = l.long || len(l.data)+len(part) > maxLine; !l.long {
			l.data = append(l.data, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l, err
		}
	}
}

// decode makes the message of a line, or the answer to one that is none.
func decode(l line) (jsonrpc.Message, *refusal) {
	var id json.RawMessage
	if l.method && isID(l.id) && json.Valid(l.id) {
		id = l.id
	}
	switch data := bytes.TrimSpace(l.data); {
	case l.long:
		return nil, &refusal{id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("message of more than %d bytes", maxLine)}
	case !utf8.Valid(data): // the daemon refuses it, and could not say whose call it was
		if !utf8.Valid(id) {
			id = nil
		}
		return nil, &refusal{id, jsonrpc.CodeParseError, "not UTF-8"}
	case !json.Valid(data):
		return nil, &refusal{nil, jsonrpc.CodeParseError, "not JSON"}
	case data[0] != '{':
		return nil, &refusal{nil, jsonrpc.CodeInvalidRequest, "one message a line, no batches"}
	default:
		msg, err := jsonrpc.DecodeMessage(data)
		if err != nil {
			return nil, &refusal{id, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message"}
		}
		if req, ok := msg.(*jsonrpc.Request); ok && l.id != nil {
			if req.ID, ok = hidden(l.id); !ok {
				return nil, &refusal{nil, jsonrpc.CodeInvalidRequest, "the id of a request must be a string or a number"}
			}
		}
		return msg, nil
	}
}

// refusal is the answer to a line that is no message.
type refusal struct {
	id      json.RawMessage // nil where it is not known
	code    int
	message string
}

func (r refusal) line() []byte {
	id := r.id
	if id == nil {
		id = json.RawMessage("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, r.code, r.message)
}
