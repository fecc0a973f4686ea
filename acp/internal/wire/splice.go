package wire

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Edit replaces the bytes of a span; an empty span inserts.
type Edit struct {
	At   Span
	With []byte
}

// Splice makes a new line with the edits, which must not overlap. The line that
// it was made from stays as it is.
func Splice(line []byte, edits ...Edit) []byte {
	slices.SortStableFunc(edits, func(a, b Edit) int { return a.At.From - b.At.From })
	size := len(line)
	for _, e := range edits {
		size += len(e.With) - (e.At.To - e.At.From)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(out, line[at:e.At.From]...)
		out = append(out, e.With...)
		at = e.At.To
	}
	return append(out, line[at:]...)
}

// Member is one member to set in an object. A nil Value takes it away.
type Member struct {
	Name  string
	Value []byte
}

// Set gives the edits that set (or take away) members of the object at s. What
// is there is replaced where it stands, each occurrence; what is not is put in
// front. It gives nil for anything but an object.
func Set(b []byte, s Span, members ...Member) []Edit {
	o, ok := openObject(b[:s.To], s.From)
	if !ok {
		return nil
	}
	var edits []Edit
	found := make([]bool, len(members))
	kept, last := s.From+1, s.From+1 // ends of the last kept value and of the last value
	run := -1                        // where a run of members to take away begins
	any := false
	for o.next() {
		i := slices.IndexFunc(members, func(m Member) bool { return o.is(m.Name) })
		last = o.value.To
		if i >= 0 && members[i].Value == nil {
			if run < 0 {
				run = o.key.From - 1
			}
			continue
		}
		if run >= 0 {
			edits = append(edits, Edit{At: Span{run, o.key.From - 1}})
			run = -1
		}
		any, kept = true, o.value.To
		if i >= 0 {
			found[i] = true
			edits = append(edits, Edit{At: o.value, With: members[i].Value})
		}
	}
	if o.bad {
		return nil
	}
	if run >= 0 {
		edits = append(edits, Edit{At: Span{kept, last}})
	}
	return append(insert(s.From+1, members, found, any), edits...)
}

// insert makes the edit that puts the members not found in front of an object.
func insert(at int, members []Member, found []bool, any bool) []Edit {
	var with bytes.Buffer
	for i, m := range members {
		if found[i] || m.Value == nil {
			continue
		}
		if with.Len() > 0 {
			with.WriteByte(',')
		}
		with.Write(Quote(m.Name))
		with.WriteByte(':')
		with.Write(m.Value)
	}
	if with.Len() == 0 {
		return nil
	}
	if any {
		with.WriteByte(',')
	}
	return []Edit{{At: Span{at, at}, With: with.Bytes()}}
}

// Append gives the edit that puts a value at the end of the array at s, which
// must be one.
func Append(b []byte, s Span, value []byte) Edit {
	end := s.To - 1
	if b[skipSpace(b, s.From+1)] != ']' {
		value = append([]byte{','}, value...)
	}
	return Edit{At: Span{end, end}, With: value}
}

// Prepend gives the edit that puts a value at the beginning of the array at s,
// which must be one.
func Prepend(b []byte, s Span, value []byte) Edit {
	if b[skipSpace(b, s.From+1)] != ']' {
		value = append(slices.Clip(value), ',')
	}
	return Edit{At: Span{s.From + 1, s.From + 1}, With: value}
}

// Quote writes a JSON string with no more escapes than JSON needs.
func Quote(s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
