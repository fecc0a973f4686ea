package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"sidetask/scope"
)

// written is what a table of the file says for a key: its value, and whether
// it was one that is allowed (a bad one is told once and compared with nothing).
type written struct {
	value any
	at    *node
	bad   bool
}

// table is one table of the file, checked key by key.
type table struct {
	at     *node
	values map[string]written
}

// document is a file, checked key by key but not yet resolved.
type document struct {
	reader
	mounts   map[scope.Path]table
	single   map[string]table // by section
	policies []table
}

// reader collects what is wrong with a source.
type reader struct {
	name   string
	src    string
	lines  []int
	errors Errors
}

// lineCol turns an offset into line and column, from 1, in characters.
func (r *reader) lineCol(offset int) (line, col int) {
	offset = min(max(offset, 0), len(r.src))
	line, onStart := slices.BinarySearch(r.lines, offset)
	if onStart {
		line++
	}
	return line, utf8.RuneCountInString(r.src[r.lines[line-1]:offset]) + 1
}

func (r *reader) fail(at *node, format string, args ...any) {
	line, col := r.lineCol(at.offset)
	r.errors = append(r.errors, Error{File: r.name, Line: line, Col: col, Message: fmt.Sprintf(format, args...)})
}

// origin is "file:line" of a key.
func (r *reader) origin(at *node) string {
	line, _ := r.lineCol(at.offset)
	return fmt.Sprintf("%s:%d", r.name, line)
}

// decode reads a source and checks every table, key and value by itself.
func decode(name string, content []byte) document {
	d := document{
		reader: reader{name: name, src: strings.TrimPrefix(string(content), "\ufeff")},
		mounts: make(map[scope.Path]table),
		single: make(map[string]table),
	}
	d.lines = lines(d.src)
	if strings.TrimSpace(d.src) == "" {
		d.fail(&node{}, "the file is empty: remove it to have the defaults, or write settings into it (sidetask config init shows all)")
		return d
	}
	root, deep, ok := locate(d.src)
	if !ok {
		d.fail(&node{offset: deep}, "nested too deeply: at most %d levels", maxDepth)
		return d
	}
	var tree map[string]any
	if _, err := toml.Decode(d.src, &tree); err != nil {
		d.syntax(err)
		return d
	}
	for name, value := range tree {
		d.section(name, value, place(root, name))
	}
	return d
}

// place is where a key stands; its table, should the scanner have missed it.
func place(parent *node, name string) *node {
	if kid := parent.kid(name); kid != nil {
		return kid
	}
	return &node{offset: parent.offset}
}

func (r *reader) syntax(err error) {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		r.fail(&node{}, "not valid TOML: %s", oneLine(err.Error()))
		return
	}
	// The library counts from the byte; a message names line and character.
	r.fail(&node{offset: parse.Position.Start}, "not valid TOML: %s", oneLine(strings.TrimSuffix(parse.Message, ".")))
}

// maxQuotedMessage bounds what the library says, which may have a key of any length in it.
const maxQuotedMessage = 300

// oneLine makes a message of the library fit for a line of a log or terminal.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() > maxQuotedMessage {
			b.WriteString("...")
			break
		}
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

func (d *document) section(name string, value any, at *node) {
	s, ok := sectionNamed(name)
	if !ok {
		if _, isTable := value.(map[string]any); isTable {
			d.fail(at, "%s", unknown("table", name, "", sectionNames()))
		} else {
			d.fail(at, "%s", unknown("key", name, "the top level", sectionNames()))
		}
		return
	}
	if s.array {
		d.array(s, value, at)
		return
	}
	values, ok := value.(map[string]any)
	switch {
	case !ok && s.placed:
		d.fail(at, "%s (%s) must be tables by scope, such as [%s.\"/\"]", name, show(value, at), name)
	case !ok:
		d.fail(at, "%s (%s) must be a table, [%s]", name, show(value, at), name)
	case s.placed:
		d.placed(s, values, at)
	default:
		d.single[name] = d.table(s, "["+name+"]", values, at)
	}
}

// placed reads the tables of [mounts."/x"].
func (d *document) placed(s section, tables map[string]any, at *node) {
	for name, value := range tables {
		at := place(at, name)
		path, err := scope.Parse(name)
		values, isTable := value.(map[string]any)
		switch {
		case err != nil && !isTable:
			d.fail(at, "%s", misplaced(s, name))
		case err != nil:
			d.fail(at, "%s scope %s: %s", s.name, quote(name), strings.TrimPrefix(err.Error(), "invalid "))
			// Of no use to anyone, but whoever mends the scope hears of the rest as well.
			d.table(s, fmt.Sprintf("[%s.%s]", s.name, quote(name)), values, at)
		case !isTable:
			d.fail(at, "%s.%s (%s) must be a table, [%s.%s]", s.name, quote(name), show(value, at), s.name, quote(name))
		default:
			d.mounts[path] = d.table(s, fmt.Sprintf("[%s.%q]", s.name, path), values, at)
		}
	}
}

// misplaced is the message for [mounts] waitTimeoutMs = 1.
func misplaced(s section, name string) string {
	if _, ok := s.key(name); ok {
		return fmt.Sprintf("unknown key %s in [%s]: it belongs in [%s.\"/\"] or the table of another scope", quote(name), s.name, s.name)
	}
	return fmt.Sprintf("unknown key %s in [%s]: only tables by scope are known, such as [%s.\"/\"]", quote(name), s.name, s.name)
}

// array reads the tables of [[policy]].
func (d *document) array(s section, value any, at *node) {
	var tables []any
	switch v := value.(type) {
	case []map[string]any:
		for _, one := range v {
			tables = append(tables, one)
		}
	case []any:
		tables = v
	default:
		d.fail(at, "%s (%s) must be an array of tables, [[%s]]", s.name, show(value, at), s.name)
		return
	}
	for i, one := range tables {
		at := at
		if item := at.item(i); item != nil {
			at = item
		}
		values, isTable := one.(map[string]any)
		if !isTable {
			d.fail(at, "%s (%s) must be an array of tables, [[%s]]", s.name, show(one, at), s.name)
			continue
		}
		d.policies = append(d.policies, d.table(s, "[["+s.name+"]]", values, at))
	}
}

// table checks the keys of one table.
func (d *document) table(s section, where string, values map[string]any, at *node) table {
	t := table{at: at, values: make(map[string]written, len(values))}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := place(at, name)
		def, ok := s.key(name)
		if !ok {
			d.fail(at, "%s", unknown("key", name, where, s.names()))
			continue
		}
		value, ok := def.accept(values[name])
		if !ok {
			d.fail(at, "%s (%s) must be %s", name, show(values[name], at), def.allowed)
		}
		t.values[name] = written{value: value, at: at, bad: !ok}
	}
	for _, def := range s.keys {
		if _, ok := t.values[def.name]; !ok && def.fallback == nil {
			d.fail(at, "%s is missing in %s: it must be %s", def.name, where, def.allowed)
			t.values[def.name] = written{bad: true, at: at}
		}
	}
	return t
}
