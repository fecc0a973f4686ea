package mcp

import (
	"bytes"
	"encoding/json"
)

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
