package wire

import (
	"bytes"
	"encoding/json"
)

// Span is a range of bytes in a line. The zero Span is an absent value.
type Span struct{ From, To int }

// Of gives the bytes of the span.
func (s Span) Of(b []byte) []byte { return b[s.From:s.To] }

// Absent reports whether there is no such value.
func (s Span) Absent() bool { return s.To == 0 }

// Envelope tells where the parts of a JSON-RPC message lie. Of a member that
// occurs twice the last one counts, as JSON parsers have it.
type Envelope struct {
	ID, Method, Params, Result, Error Span
}

// Request reports whether the message is a request: a method with an id.
func (e Envelope) Request() bool { return !e.Method.Absent() && !e.ID.Absent() }

// Scan finds the envelope in a line. ok is false for anything but one whole
// JSON object; what lies deeper than its members is only balanced, not checked.
func Scan(line []byte) (e Envelope, ok bool) {
	o, ok := openObject(line, skipSpace(line, 0))
	if !ok {
		return Envelope{}, false
	}
	for o.next() {
		switch {
		case o.is("id"):
			e.ID = o.value
		case o.is("method"):
			e.Method = o.value
		case o.is("params"):
			e.Params = o.value
		case o.is("result"):
			e.Result = o.value
		case o.is("error"):
			e.Error = o.value
		}
	}
	if o.bad || skipSpace(line, o.at) != len(line) {
		return Envelope{}, false
	}
	return e, true
}

// Get finds the value at a path of member names below the object at s. ok is
// false when there is none, or something on the way is no object.
func Get(b []byte, s Span, path ...string) (value Span, ok bool) {
	for _, name := range path {
		if s, ok = member(b, s, name); !ok {
			return Span{}, false
		}
	}
	return s, true
}

func member(b []byte, s Span, name string) (value Span, ok bool) {
	if s.Absent() {
		return Span{}, false
	}
	o, ok := openObject(b[:s.To], s.From)
	if !ok {
		return Span{}, false
	}
	for o.next() {
		if o.is(name) {
			value = o.value
		}
	}
	return value, !o.bad && !value.Absent()
}

// Members calls each for every member of the object at s, its name decoded. It
// is false where there is no well-formed object; then each may have been called.
func Members(b []byte, s Span, each func(name string, value Span)) bool {
	o, ok := openObject(b[:s.To], s.From)
	if !ok {
		return false
	}
	for o.next() {
		each(String(b[o.key.From-1:o.key.To+1]), o.value)
	}
	return !o.bad
}

// Text gives the string at a path, or "" where there is none.
func Text(b []byte, s Span, path ...string) string {
	if s, ok := Get(b, s, path...); ok {
		return String(s.Of(b))
	}
	return ""
}

// String decodes a JSON string; anything else gives "".
func String(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// Elements gives the elements of the array at s; ok is false for anything else.
func Elements(b []byte, s Span) (all []Span, ok bool) {
	if s.Absent() || b[s.From] != '[' {
		return nil, false
	}
	i := skipSpace(b, s.From+1)
	if i < s.To && b[i] == ']' {
		return nil, true
	}
	for i < s.To {
		end, ok := skipValue(b[:s.To], i)
		if !ok {
			return nil, false
		}
		all = append(all, Span{i, end})
		i = skipSpace(b[:s.To], end)
		if i >= s.To {
			return nil, false
		}
		switch b[i] {
		case ',':
			i = skipSpace(b[:s.To], i+1)
		case ']':
			return all, true
		default:
			return nil, false
		}
	}
	return nil, false
}

// Key makes an id comparable: two ids are the same when type and value are, so
// 1 and "1" differ, and "\u00e9" and "é" do not (ACP.md §1).
func Key(id []byte) string {
	if len(id) > 0 && id[0] == '"' && bytes.IndexByte(id, '\\') >= 0 {
		var s string
		if json.Unmarshal(id, &s) == nil {
			return `"` + s + `"`
		}
	}
	return string(id)
}

// First gives the first element of the array at s; ok is false where there is none.
func First(b []byte, s Span) (first Span, ok bool) {
	if s.Absent() || b[s.From] != '[' {
		return Span{}, false
	}
	i := skipSpace(b[:s.To], s.From+1)
	end, ok := skipValue(b[:s.To], i)
	return Span{i, end}, ok && b[i] != ']'
}

// Opens reports whether a line begins as an object does.
func Opens(line []byte) bool {
	i := skipSpace(line, 0)
	return i < len(line) && line[i] == '{'
}
