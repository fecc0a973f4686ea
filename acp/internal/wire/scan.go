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

	// Of ACP: params.sessionId, params.update, and sessionUpdate in that. They are
	// what most lines are looked at for, and found on the way.
	Session, Update, Kind Span
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
	for o.name() {
		switch {
		case o.is("id"):
			o.take(&e.ID)
		case o.is("method"):
			o.take(&e.Method)
		case o.is("params"):
			e.params(&o)
		case o.is("result"):
			o.take(&e.Result)
		case o.is("error"):
			o.take(&e.Error)
		default:
			o.skip()
		}
	}
	if o.bad || skipSpace(line, o.at) != len(line) {
		return Envelope{}, false
	}
	return e, true
}

func (e *Envelope) params(o *object) {
	e.Session, e.Update, e.Kind = Span{}, Span{}, Span{}
	in, ok := o.enter()
	for ok && in.name() {
		switch {
		case in.is("sessionId"):
			in.take(&e.Session)
		case in.is("update"):
			e.update(&in)
		default:
			in.skip()
		}
	}
	if !o.leave(in) {
		e.Session, e.Update, e.Kind = Span{}, Span{}, Span{}
	}
	e.Params = o.value
}

func (e *Envelope) update(o *object) {
	e.Kind = Span{}
	in, ok := o.enter()
	for ok && in.name() {
		if in.is("sessionUpdate") {
			in.take(&e.Kind)
		} else {
			in.skip()
		}
	}
	if !o.leave(in) {
		e.Kind = Span{}
	}
	e.Update = o.value
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
func String(raw []byte) string { return string(Plain(raw)) }

// Plain is [String] as bytes. They are those of raw itself, but for escapes.
func Plain(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return nil
	}
	return []byte(s)
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
