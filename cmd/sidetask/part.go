package main

import (
	"bytes"
	"encoding/json"
	"slices"

	"sidetask/rpc"
)

// tailPart is an answer of task/tail of which the data, nearly all of it, are not
// yet decoded: the next part is asked for before that is done.
type tailPart struct {
	rpc.TaskTailResult                 // without Data
	literal            json.RawMessage // Data as a JSON string
}

// afterData follows the data in an answer, as the daemon writes it. It cannot
// stand in them: a quote within a string has a backslash before it.
const afterData = `","encoding":"`

// splitTail decodes all of an answer but its data.
func splitTail(raw []byte) (part tailPart, err error) {
	begin := []byte(`{"data":`)
	end := bytes.LastIndex(raw, []byte(afterData))
	if end < len(begin) || !bytes.HasPrefix(raw, begin) { // written in another way
		err = json.Unmarshal(raw, &part.TaskTailResult)
		if err == nil {
			part.literal, err = json.Marshal(part.Data)
		}
		return part, err
	}
	part.literal = raw[len(begin) : end+1]
	return part, json.Unmarshal(slices.Concat([]byte("{"), raw[end+2:]), &part.TaskTailResult)
}

// empty reports whether there are no data.
func (t tailPart) empty() bool { return len(t.literal) <= len(`""`) }

// bytes decodes the data.
func (t tailPart) bytes() ([]byte, error) {
	if text, ok := unquote(t.literal); ok && t.Encoding != "base64" {
		return text, nil
	}
	if err := json.Unmarshal(t.literal, &t.Data); err != nil {
		return nil, err
	}
	return decode(t.TaskTailResult)
}

// simpleEscapes are those of JSON that stand for one byte.
var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote is json.Unmarshal of a string with no other escapes than those: a log
// has one at the end of each line, and nothing else.
func unquote(literal []byte) ([]byte, bool) {
	if len(literal) < len(`""`) {
		return nil, false
	}
	rest := literal[1 : len(literal)-1]
	text := make([]byte, 0, len(rest))
	for {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 {
			return append(text, rest...), true
		}
		if i+1 == len(rest) || simpleEscapes[rest[i+1]] == 0 {
			return nil, false
		}
		text = append(append(text, rest[:i]...), simpleEscapes[rest[i+1]])
		rest = rest[i+2:]
	}
}
