package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Message is one of this package's messages and records.
type Message interface{ fields() []field }

// field is one field of a message: its name, and a pointer to its place.
type field struct {
	name string
	at   any
}

// Frame is a message as it goes over the socket on which a job is given: the
// length of its line (4 bytes, big endian), and the line.
func Frame(m Message) []byte {
	line := Encode(m)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(line))), line...)
}

// Encode makes one line: name=value, a space between two, strings quoted as Go
// quotes them. What is zero is left out; a list has its name before each element.
func Encode(m Message) []byte {
	var line []byte
	put := func(name, value string) {
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(append(append(line, name...), '='), value...)
	}
	for _, f := range m.fields() {
		switch at := f.at.(type) {
		case *int:
			if *at != 0 {
				put(f.name, strconv.Itoa(*at))
			}
		case *int64:
			if *at != 0 {
				put(f.name, strconv.FormatInt(*at, 10))
			}
		case **int64: // may be absent, so that zero is said
			if *at != nil {
				put(f.name, strconv.FormatInt(**at, 10))
			}
		case *uint64:
			if *at != 0 {
				put(f.name, strconv.FormatUint(*at, 10))
			}
		case *bool:
			if *at {
				put(f.name, "true")
			}
		case *string:
			if *at != "" {
				put(f.name, strconv.Quote(*at))
			}
		case *[]byte:
			if len(*at) > 0 {
				put(f.name, strconv.Quote(string(*at)))
			}
		case *[]string:
			for _, element := range *at {
				put(f.name, strconv.Quote(element))
			}
		}
	}
	return append(line, '\n')
}

// errLine says that a text is no line of [Encode]'s, or a part of one.
var errLine = errors.New("incomplete or not understood")

// Decode reads such a line. Fields that it does not know are passed over: a later
// version has more.
func Decode(line []byte, m Message) error {
	fields := m.fields()
	rest, whole := strings.CutSuffix(string(line), "\n")
	if !whole {
		return errLine
	}
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		if !ok {
			return errLine
		}
		value, _, _ := strings.Cut(after, " ")
		if strings.HasPrefix(after, `"`) {
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil {
				return errLine
			}
			value = quoted
		}
		for _, f := range fields {
			if f.name != name {
				continue
			}
			if err := f.set(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		rest = strings.TrimPrefix(after[len(value):], " ")
	}
	return nil
}

// set reads one value into the field's place.
func (f field) set(value string) (err error) {
	switch at := f.at.(type) {
	case *int:
		*at, err = strconv.Atoi(value)
	case *int64:
		*at, err = strconv.ParseInt(value, 10, 64)
	case **int64:
		*at = new(int64)
		**at, err = strconv.ParseInt(value, 10, 64)
	case *uint64:
		*at, err = strconv.ParseUint(value, 10, 64)
	case *bool:
		*at, err = strconv.ParseBool(value)
	case *string:
		*at, err = strconv.Unquote(value)
	case *[]byte:
		var text string
		text, err = strconv.Unquote(value)
		*at = []byte(text)
	case *[]string:
		var element string
		element, err = strconv.Unquote(value)
		*at = append(*at, element)
	}
	return err
}
