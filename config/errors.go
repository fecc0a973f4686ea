package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error is one thing that is wrong with a configuration file. Line and Col
// begin at 1 and count characters; they are 0 where the file as a whole could
// not be read.
type Error struct {
	File    string
	Line    int
	Col     int
	Message string // value, what is wrong with it, what is allowed
}

// Error is "file:line:col: message".
func (e Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Message)
}

// Errors are all things that are wrong with a file, in the order of the file.
// [Load], [Open] and [Live.Reload] return a broken file as this type.
type Errors []Error

// Error has one line for each error.
func (e Errors) Error() string { return strings.Join(e.Lines(), "\n") }

// Lines are the messages one by one, for a list on the wire; never nil.
func (e Errors) Lines() []string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return lines
}

func (e Errors) sort() {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
}
