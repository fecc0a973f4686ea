package wire

import "bytes"

// object walks the members of a JSON object.
type object struct {
	b          []byte
	at         int // after the last value, or after the closing brace
	first      bool
	bad        bool // it is no well-formed object
	plain      bool // the key has no escapes
	key, value Span // the member at hand; the key without its quotes
}

func openObject(b []byte, i int) (object, bool) {
	if i >= len(b) || b[i] != '{' {
		return object{}, false
	}
	return object{b: b, at: i + 1, first: true}, true
}

// next goes to the next member. It is false at the end, and at the first fault.
func (o *object) next() bool { return o.name() && o.skip() }

// name goes to the next member, up to its value: [object.skip], take
// or enter must follow.
func (o *object) name() bool {
	i := skipSpace(o.b, o.at)
	if i >= len(o.b) {
		return o.fail()
	}
	if o.b[i] == '}' {
		o.at = i + 1
		return false
	}
	if !o.first {
		if o.b[i] != ',' {
			return o.fail()
		}
		i = skipSpace(o.b, i+1)
	}
	o.first = false
	if i >= len(o.b) || o.b[i] != '"' {
		return o.fail()
	}
	end, ok := skipString(o.b, i)
	if !ok {
		return o.fail()
	}
	o.key = Span{i + 1, end - 1}
	o.plain = bytes.IndexByte(o.key.Of(o.b), '\\') < 0
	i = skipSpace(o.b, end)
	if i >= len(o.b) || o.b[i] != ':' {
		return o.fail()
	}
	o.at = skipSpace(o.b, i+1)
	return true
}

// skip goes over the value.
func (o *object) skip() bool {
	end, ok := skipValue(o.b, o.at)
	if !ok {
		return o.fail()
	}
	o.value, o.at = Span{o.at, end}, end
	return true
}

// take goes over the value and notes where it lies.
func (o *object) take(at *Span) {
	if o.skip() {
		*at = o.value
	}
}

// enter begins to walk the value, if it is an object; [object.leave] must follow.
func (o *object) enter() (in object, ok bool) { return openObject(o.b, o.at) }

// leave goes over the value when its members have been walked. It is false for
// anything but a well-formed object: then what was found in it does not count.
func (o *object) leave(in object) bool {
	if in.b == nil || in.bad {
		o.skip()
		return false
	}
	o.value, o.at = Span{o.at, in.at}, in.at
	return true
}

func (o *object) fail() bool {
	o.bad = true
	return false
}

// is compares the member's name; an escaped spelling of it is the same name.
func (o *object) is(name string) bool {
	raw := o.key.Of(o.b)
	if o.plain {
		return string(raw) == name
	}
	return String(o.b[o.key.From-1:o.key.To+1]) == name
}

func skipSpace(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' { // nearly always
		return i
	}
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString gives the index after the closing quote of the string at i.
func skipString(b []byte, i int) (int, bool) {
	start := i + 1
	for j := start; ; {
		n := bytes.IndexByte(b[j:], '"')
		if n < 0 {
			return 0, false
		}
		j += n
		k := j
		for k > start && b[k-1] == '\\' {
			k--
		}
		if (j-k)%2 == 0 {
			return j + 1, true
		}
		j++
		start = j // a run of backslashes is counted once
	}
}

// skipValue gives the index after the value at i.
func skipValue(b []byte, i int) (int, bool) {
	if i >= len(b) {
		return 0, false
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNest(b, i)
	}
	start := i
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return i, i > start
		case '"', '{', '[', ':':
			return 0, false
		}
		i++
	}
	return i, i > start
}

// skipNest gives the index after the bracket that closes the one at i. It takes
// no memory, however deep the nesting is.
func skipNest(b []byte, i int) (int, bool) {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			end, ok := skipString(b, i)
			if !ok {
				return 0, false
			}
			i = end
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
		i++
	}
	return 0, false
}
