package config

import (
	"bytes"
	"fmt"
)

// Load reads, checks and resolves the file. An absent one is the defaults. The
// error of a file that is not as it should be is [Errors]: all of them.
func Load(path string) (*Settings, Origins, error) {
	c := read(path)
	return c.parse(path)
}

// parse makes settings of what was read.
func (c content) parse(path string) (*Settings, Origins, error) {
	switch {
	case c.err != nil:
		return nil, nil, Errors{{File: path, Message: c.err.Error()}}
	case c.absent:
		s, origins := defaults()
		return s, origins, nil
	}
	return parse(path, c.bytes)
}

// defaults are the settings of an absent file.
func defaults() (*Settings, Origins) {
	var d document
	return d.resolve()
}

// maxErrors bounds what is told of one file.
const maxErrors = 100

// parse checks and resolves a source; name is what its errors and origins call it.
func parse(name string, src []byte) (*Settings, Origins, error) {
	d := decode(name, src)
	s, origins := d.resolve()
	if len(d.errors) == 0 {
		return s, origins, nil
	}
	d.errors.sort()
	if more := len(d.errors) - maxErrors; more > 0 {
		d.errors = d.errors[:maxErrors]
		last := d.errors[maxErrors-1]
		last.Message = fmt.Sprintf("and %d more errors from here on", more)
		d.errors = append(d.errors, last)
	}
	return nil, nil, d.errors
}

// same reports whether two readings found the same.
func (c content) same(o content) bool {
	return c.absent == o.absent && bytes.Equal(c.bytes, o.bytes) && errorText(c.err) == errorText(o.err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
