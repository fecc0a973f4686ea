package wire

import (
	"bytes"
	"regexp"
)

const (
	outlineHead = blockSize // of a line that is streamed, to be looked at
	outlineTail = 1 << 10
)

// Outline collects the beginning and the end of a line that is streamed, to tell
// what it answers. The zero Outline is ready.
type Outline struct{ head, tail []byte }

// Add takes the next piece. It is copied.
func (o *Outline) Add(b []byte) {
	o.head = append(o.head, b[:min(len(b), outlineHead-len(o.head))]...)
	if len(b) >= outlineTail {
		o.tail = o.tail[:0]
	} else if drop := len(o.tail) + len(b) - outlineTail; drop > 0 {
		o.tail = append(o.tail[:0], o.tail[drop:]...)
	}
	o.tail = append(o.tail, b[max(0, len(b)-outlineTail):]...)
}

// lastID is an id among the last members of a message. What comes before the
// brace that ends a line lies in no string, and nowhere deeper.
var lastID = regexp.MustCompile(`,\s*"id"\s*:\s*(-?[0-9][0-9.eE+-]*|"(?:[^"\\]|\\.)*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// Answer gives a short answer with the id of the long one and what stands whole
// at the beginning of its result or error. It is nil for anything else, and where
// the id lies in the middle.
func (o *Outline) Answer() []byte {
	var id, kind, body []byte
	outer, ok := openObject(o.head, skipSpace(o.head, 0))
	for ok && outer.next() && outer.value.To < len(o.head) {
		switch {
		case outer.is("id"):
			id = outer.value.Of(o.head)
		case outer.is("result"), outer.is("error"):
			kind, body = outer.key.Of(o.head), outer.value.Of(o.head)
		case outer.is("method"):
			return nil
		}
	}
	if at := outer.broken(); at > 0 && (outer.is("result") || outer.is("error")) {
		kind, body = outer.key.Of(o.head), o.beginning(at)
	}
	if id == nil {
		if m := lastID.FindSubmatch(o.tail); m != nil {
			id = m[1]
		}
	}
	if id == nil || kind == nil {
		return nil
	}
	return bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"`), kind, []byte(`":`), body, []byte("}\n")}, nil)
}

// beginning gives the whole members of the object that begins at at.
func (o *Outline) beginning(at int) []byte {
	out := []byte{'{'}
	inner, ok := openObject(o.head, at)
	for ok && inner.next() && inner.value.To < len(o.head) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, o.head[inner.key.From-1:inner.value.To]...)
	}
	return append(out, '}')
}

// broken gives where the value of the member at hand begins, if the text ends in
// the middle of it; else 0.
func (o *object) broken() int {
	if o.value.To == len(o.b) && o.value.To > 0 {
		return o.value.From // a number may go on
	}
	if !o.bad || o.key.From <= o.value.To {
		return 0
	}
	i := skipSpace(o.b, o.key.To+1)
	if i >= len(o.b) || o.b[i] != ':' {
		return 0
	}
	return skipSpace(o.b, i+1)
}
