package wire

import (
	"bytes"
	"strings"
)

const (
	skimDepth  = 3 // of the objects whose members are kept: the message, its params or result, and what is in that
	skimString = 1 << 10
	skimLimit  = 64 << 10
)

// Skim makes a short form of a line that is streamed: the same JSON, but what
// lies deep, what is in arrays, and strings over 1 KiB are left out. So the
// envelope of a line is known, however long it is, in bounded memory. The zero
// Skim is ready.
type Skim struct {
	out   []byte
	depth int  // brackets that are open
	skip  int  // what is at this depth or deeper is left out; 0: nothing is
	over  bool // the object has ended
	bad   bool // no object, or its short form is not short

	inString bool
	text     digester // finds the end of the string
	from     int      // where the string begins in out
	long     bool     // it is left out

	whole, at int // how much of out is whole members, and at what depth
	member    int // where the member at hand begins in out
}

// Add takes the next piece.
func (s *Skim) Add(b []byte) {
	for len(b) > 0 && !s.bad {
		if s.inString {
			b = b[s.string(b):]
			continue
		}
		s.byte(b[0])
		b = b[1:]
	}
}

// string works off the beginning of b, which is in a string, and says how much.
func (s *Skim) string(b []byte) int {
	n, ended := s.text.string(b)
	if s.skip == 0 && !s.long {
		if s.long = len(s.out)-s.from+n > skimString; s.long {
			s.out = append(s.out[:s.from], "[]"...) // no id and no name is that
		} else {
			s.out = append(s.out, b[:n]...)
		}
	}
	if !ended {
		return n
	}
	s.inString = false
	if s.skip == 0 && !s.long {
		s.out = append(s.out, '"')
	}
	return n + 1
}

// byte takes one byte that is in no string.
func (s *Skim) byte(c byte) {
	kept := s.skip == 0
	switch c {
	case '"':
		s.inString, s.long, s.from = true, false, len(s.out)
		s.text.odd = false
	case '{', '[':
		s.depth++
		if kept && (c == '[' || s.depth > skimDepth) {
			s.skip = s.depth
		}
	case '}', ']':
		s.depth--
		if kept = kept || s.depth < s.skip; kept {
			s.skip = 0
		}
		s.bad = s.depth < 0
		s.over = s.depth == 0
	case ',':
		if kept {
			s.whole, s.at = len(s.out), s.depth
		}
	}
	if kept {
		s.out = append(s.out, c)
		s.bad = s.bad || len(s.out) > skimLimit
	}
	if s.depth == 1 && (c == '{' || c == ',') {
		s.member = len(s.out)
	}
}

// Short gives the short form of the whole line, nil where there is none: it has
// not ended, it is no object, or it would not be short.
func (s *Skim) Short() []byte {
	if s.bad || !s.over {
		return nil
	}
	return append(bytes.TrimSpace(s.out), '\n')
}

// SoFar gives the members that are whole by now as an object of their own: what
// is not in it may still come. It is nil where there are none.
func (s *Skim) SoFar() []byte {
	if s.bad || s.at == 0 {
		return nil
	}
	return append(bytes.Clone(s.out[:s.whole]), strings.Repeat("}", s.at)+"\n"...)
}

// Known is the short form of the line, or what of it has come so far.
func (s *Skim) Known() []byte {
	if line := s.Short(); line != nil {
		return line
	}
	return s.SoFar()
}

// Within is the name of the member of the message that has not ended, "" where
// that is not known.
func (s *Skim) Within() string {
	name, _, found := bytes.Cut(s.out[s.member:], []byte{':'})
	name = bytes.TrimSpace(name)
	if s.bad || !found || !bytes.HasSuffix(name, []byte{'"'}) {
		return ""
	}
	return String(name)
}
