package config

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// maxDepth bounds how deep a file may nest and how many parts a key may have;
// the deepest valid key has three.
const maxDepth = 32

// node says where a key of the file stands, and where those below it do: the
// TOML library tells positions of syntax errors only.
type node struct {
	offset int              // of the key in the source, in bytes
	text   string           // of a value that is no string, list or table, as it is written
	kids   map[string]*node // of a table
	items  []*node          // of an array
}

func (n *node) kid(name string) *node {
	if n == nil || n.kids == nil {
		return nil
	}
	return n.kids[name]
}

// written is the value as the file has it, or "" where that is not at hand.
func (n *node) written() string {
	if n == nil {
		return ""
	}
	return n.text
}

func (n *node) item(i int) *node {
	if n == nil || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

func (n *node) grow(name string, offset int) *node {
	if kid := n.kids[name]; kid != nil {
		return kid
	}
	if n.kids == nil {
		n.kids = make(map[string]*node)
	}
	kid := &node{offset: offset}
	n.kids[name] = kid
	return kid
}

// lines are the offsets at which the lines of a source begin.
func lines(src string) []int {
	starts := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// locate finds the keys of a source. It knows just as much TOML as it takes to
// step over values, and stops at the first thing that is none: what is valid
// is for the library to say. ok is false, and deep the place, if the source
// nests deeper than maxDepth; the library must not be asked then.
func locate(src string) (root *node, deep int, ok bool) {
	s := &scanner{src: src, deep: -1}
	root = &node{}
	here := root
	for s.skip(true); s.i < len(s.src); s.skip(true) {
		good := false
		if s.src[s.i] == '[' {
			here, good = s.header(root)
		} else {
			good = s.pair(here, 0)
		}
		if !good {
			break
		}
	}
	return root, s.deep, s.deep < 0
}

type scanner struct {
	src  string
	i    int
	deep int // where the source nests too deeply, or -1
}

// skip steps over blanks and, where lines may end, comments and line ends.
func (s *scanner) skip(lines bool) {
	for s.i < len(s.src) {
		switch c := s.src[s.i]; {
		case c == ' ' || c == '\t':
			s.i++
		case lines && (c == '\n' || c == '\r'):
			s.i++
		case lines && c == '#':
			end := strings.IndexByte(s.src[s.i:], '\n')
			if end < 0 {
				s.i = len(s.src)
				return
			}
			s.i += end
		default:
			return
		}
	}
}

func (s *scanner) take(c byte) bool {
	if s.i < len(s.src) && s.src[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) tooDeep(depth, at int) bool {
	if depth > maxDepth && s.deep < 0 {
		s.deep = at
	}
	return depth > maxDepth
}

// part is one part of a dotted key.
type part struct {
	name   string
	offset int
}

// key reads a dotted key.
func (s *scanner) key() ([]part, bool) {
	var parts []part
	for {
		s.skip(false)
		at := s.i
		if s.tooDeep(len(parts)+1, at) {
			return nil, false
		}
		name, ok := s.name()
		if !ok {
			return nil, false
		}
		parts = append(parts, part{name, at})
		s.skip(false)
		if !s.take('.') {
			return parts, true
		}
	}
}

func (s *scanner) name() (string, bool) {
	at := s.i
	if at < len(s.src) && (s.src[at] == '"' || s.src[at] == '\'') {
		if !s.quoted() {
			return "", false
		}
		raw := s.src[at:s.i]
		if !strings.Contains(raw, `\`) || raw[0] == '\'' {
			return raw[1 : len(raw)-1], true
		}
		var key struct{ K string }
		if _, err := toml.Decode("K = "+raw, &key); err != nil {
			return "", false
		}
		return key.K, true
	}
	for s.i < len(s.src) && !strings.ContainsRune(" \t\r\n.=[]{}#,\"'", rune(s.src[s.i])) {
		s.i++
	}
	return s.src[at:s.i], s.i > at
}

// quoted steps over a string of any of the four forms.
func (s *scanner) quoted() bool {
	c := s.src[s.i : s.i+1]
	if long := strings.Repeat(c, 3); strings.HasPrefix(s.src[s.i:], long) {
		s.i += 3
		for s.i < len(s.src) {
			switch {
			case c == `"` && s.src[s.i] == '\\':
				s.i += 2
			case strings.HasPrefix(s.src[s.i:], long):
				s.i += 3
				for s.take(c[0]) { // one or two quotes may stand before the end
				}
				return true
			default:
				s.i++
			}
		}
		return false
	}
	for s.i++; s.i < len(s.src) && s.src[s.i] != '\n'; s.i++ {
		switch {
		case c == `"` && s.src[s.i] == '\\':
			s.i++
		case s.src[s.i] == c[0]:
			s.i++
			return true
		}
	}
	return false
}

// header reads [a.b] or [[a.b]] and gives the table that it opens.
func (s *scanner) header(root *node) (*node, bool) {
	s.i++
	array := s.take('[')
	parts, ok := s.key()
	if !ok || !s.take(']') || array && !s.take(']') {
		return nil, false
	}
	here := root
	for i, p := range parts {
		here = here.grow(p.name, p.offset)
		if i < len(parts)-1 && len(here.items) > 0 {
			here = here.items[len(here.items)-1]
		}
	}
	last := parts[len(parts)-1].offset
	if array {
		item := &node{offset: last}
		here.items = append(here.items, item)
		return item, true
	}
	here.offset = last // a table that was only passed through stands where its own header is
	return here, true
}

// pair reads key = value into a table.
func (s *scanner) pair(table *node, depth int) bool {
	parts, ok := s.key()
	if !ok || !s.take('=') {
		return false
	}
	for _, p := range parts {
		table = table.grow(p.name, p.offset)
	}
	return s.value(table, depth)
}

// value steps over a value and files what is in it below n.
func (s *scanner) value(n *node, depth int) bool {
	if s.tooDeep(depth, s.i) {
		return false
	}
	s.skip(false)
	if s.i >= len(s.src) {
		return false
	}
	switch s.src[s.i] {
	case '"', '\'':
		return s.quoted()
	case '[':
		return s.list(']', func() bool {
			item := &node{offset: s.i}
			n.items = append(n.items, item)
			return s.value(item, depth+1)
		})
	case '{':
		return s.list('}', func() bool { return s.pair(n, depth+1) })
	}
	at := s.i
	for s.i < len(s.src) && !strings.ContainsRune("\r\n,]}#", rune(s.src[s.i])) {
		s.i++
	}
	n.text = strings.TrimRight(s.src[at:s.i], " \t")
	return s.i > at
}

// list steps over what stands in brackets, one element at a time.
func (s *scanner) list(end byte, element func() bool) bool {
	for s.i++; ; {
		s.skip(true)
		if s.take(end) {
			return true
		}
		if !element() {
			return false
		}
		s.skip(true)
		if !s.take(',') {
			return s.take(end)
		}
	}
}
