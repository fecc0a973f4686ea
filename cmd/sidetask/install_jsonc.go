package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// maxDepth bounds how deeply a settings file may nest.
const maxDepth = 256

// jsonc reads JSON with comments and trailing commas, as editors keep their
// settings, and says where things stand in it.
type jsonc struct {
	text []byte
	at   int
}

// member is one "key": value of an object; offsets into the text.
type member struct {
	key        string
	value, end int
}

// object is where an object and its members stand.
type object struct {
	open, close int // offsets of { and }
	members     []member
	comma       bool // after the last member
}

// find gives the member of that name; of several the last, which is the one
// that counts.
func (o object) find(key string) (member, bool) {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].key == key {
			return o.members[i], true
		}
	}
	return member{}, false
}

// fault is an error with its place.
func (d *jsonc) fault(at int, format string, args ...any) error {
	line := 1 + bytes.Count(d.text[:at], []byte("\n"))
	column := at - bytes.LastIndexByte(d.text[:at], '\n')
	return fmt.Errorf("%d:%d: %s", line, column, fmt.Sprintf(format, args...))
}

// whole reads the text as one object.
func (d *jsonc) whole() (object, error) {
	if err := d.space(); err != nil {
		return object{}, err
	}
	if d.at == len(d.text) || d.text[d.at] != '{' {
		return object{}, d.fault(d.at, "an object is wanted here")
	}
	root, err := d.object(0)
	if err != nil {
		return root, err
	}
	if err := d.space(); err != nil {
		return root, err
	}
	if d.at < len(d.text) {
		return root, d.fault(d.at, "nothing may follow the settings' object")
	}
	return root, nil
}

// space skips white space and comments.
func (d *jsonc) space() error {
	if d.at == 0 {
		d.at = len(d.text) - len(bytes.TrimPrefix(d.text, []byte("\xef\xbb\xbf")))
	}
	for d.at < len(d.text) {
		rest := d.text[d.at:]
		switch {
		case bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0:
			d.at++
		case bytes.HasPrefix(rest, []byte("//")):
			if end := bytes.IndexByte(rest, '\n'); end >= 0 {
				d.at += end
			} else {
				d.at = len(d.text)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return d.fault(d.at, "this comment has no end")
			}
			d.at += 2 + end + 2
		default:
			return nil
		}
	}
	return nil
}

// next skips space and takes the byte c if it is there.
func (d *jsonc) next(c byte) (bool, error) {
	if err := d.space(); err != nil {
		return false, err
	}
	if d.at < len(d.text) && d.text[d.at] == c {
		d.at++
		return true, nil
	}
	return false, nil
}

// object reads an object; the text is at its brace.
func (d *jsonc) object(depth int) (object, error) {
	o := object{open: d.at}
	d.at++
	for {
		if done, err := d.next('}'); done || err != nil {
			o.close = d.at - 1
			return o, err
		}
		if len(o.members) > 0 && !o.comma {
			return o, d.fault(d.at, "a comma or } is wanted here")
		}
		key, err := d.string()
		if err != nil {
			return o, err
		}
		if colon, err := d.next(':'); err != nil {
			return o, err
		} else if !colon {
			return o, d.fault(d.at, "a colon is wanted here")
		}
		if err := d.space(); err != nil {
			return o, err
		}
		m := member{key: key, value: d.at}
		if err := d.value(depth + 1); err != nil {
			return o, err
		}
		m.end = d.at
		o.members = append(o.members, m)
		if o.comma, err = d.next(','); err != nil {
			return o, err
		}
	}
}

// value reads any value; the text is at its first byte.
func (d *jsonc) value(depth int) error {
	if depth > maxDepth {
		return d.fault(d.at, "more than %d levels", maxDepth)
	}
	if d.at == len(d.text) {
		return d.fault(d.at, "a value is wanted here")
	}
	switch d.text[d.at] {
	case '{':
		_, err := d.object(depth)
		return err
	case '[':
		return d.array(depth)
	case '"':
		_, err := d.string()
		return err
	}
	start := d.at
	for d.at < len(d.text) && bytes.IndexByte([]byte(" \t\r\n,]}/"), d.text[d.at]) < 0 {
		d.at++
	}
	if !json.Valid(d.text[start:d.at]) { // null, true, false or a number
		return d.fault(start, "a value is wanted here")
	}
	return nil
}

func (d *jsonc) array(depth int) error {
	d.at++
	for comma := true; ; {
		if done, err := d.next(']'); done || err != nil {
			return err
		}
		if !comma {
			return d.fault(d.at, "a comma or ] is wanted here")
		}
		if err := d.value(depth + 1); err != nil {
			return err
		}
		var err error
		if comma, err = d.next(','); err != nil {
			return err
		}
	}
}

func (d *jsonc) string() (string, error) {
	start := d.at
	if d.at == len(d.text) || d.text[d.at] != '"' {
		return "", d.fault(d.at, "a string is wanted here")
	}
	for d.at++; d.at < len(d.text); d.at++ {
		switch d.text[d.at] {
		case '\\':
			d.at++
		case '"':
			d.at++
			var s string
			if err := json.Unmarshal(d.text[start:d.at], &s); err != nil {
				return "", d.fault(start, "%v", err)
			}
			return s, nil
		}
	}
	d.at = len(d.text)
	return "", d.fault(start, "this string has no end")
}
