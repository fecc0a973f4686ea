package server

// maxDepth is how deep objects and arrays of one message may nest.
const maxDepth = 1000

// verdict is what a scanner says of the bytes so far.
type verdict int

const (
	more     verdict = iota // the value goes on
	complete                // the value has ended
	broken                  // not JSON, or nested too deep
)

// expect is what may come next.
type expect int

const (
	expectValue expect = iota
	expectFirstElement
	expectFirstKey
	expectKey
	expectColon
	expectAfter // a comma or the end of what is open
	inString
	inEscape
	inHex
	inLiteral
	inMinus
	inZero
	inInt
	inDot
	inFraction
	inE
	inESign
	inExponent
)

// scanner finds the end of one JSON value byte by byte and refuses it at the
// first byte that cannot be right, so that nothing after a mistake is swallowed
// as its continuation. The zero value is ready for one value.
type scanner struct {
	state expect
	open  []byte // the closing brackets that are owed, innermost last
	key   bool   // the string is an object's key
	hex   int    // hex digits still owed
	rest  string // of a literal
}

// feed takes bytes until the value ends, breaks, or data does, and says how
// many belong to it. A number at the top ends at the byte after it.
func (s *scanner) feed(data []byte) (int, verdict) {
	for i := 0; i < len(data); i++ {
		if s.state == inString { // the long runs
			for i < len(data) && data[i] >= ' ' && data[i] != '"' && data[i] != '\\' {
				i++
			}
			if i == len(data) {
				return i, more
			}
		}
		switch s.step(data[i]) {
		case broken:
			return i, broken
		case complete:
			return i + 1, complete
		}
		if s.state == expectAfter && len(s.open) == 0 { // a number ended here
			return i, complete
		}
	}
	return len(data), more
}

// end says whether the value may end where the input does.
func (s *scanner) end() verdict {
	switch s.state {
	case inZero, inInt, inFraction, inExponent:
		if len(s.open) == 0 {
			return complete
		}
	}
	return broken
}

func space(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }

func digit(b byte) bool { return b >= '0' && b <= '9' }

func (s *scanner) step(b byte) verdict {
	switch s.state {
	case inString, inEscape, inHex:
		return s.stepString(b)
	case inLiteral:
		if b != s.rest[0] {
			return broken
		}
		if s.rest = s.rest[1:]; s.rest == "" {
			return s.valueEnded()
		}
		return more
	case expectValue, expectFirstElement, expectFirstKey, expectKey, expectColon, expectAfter:
		return s.stepBetween(b)
	}
	return s.stepNumber(b)
}

// valueEnded goes on after a value whose last byte has been taken.
func (s *scanner) valueEnded() verdict {
	s.state = expectAfter
	if len(s.open) == 0 {
		return complete
	}
	return more
}

func (s *scanner) stepString(b byte) verdict {
	switch {
	case s.state == inHex:
		if !digit(b) && (b < 'a' || b > 'f') && (b < 'A' || b > 'F') {
			return broken
		}
		if s.hex--; s.hex == 0 {
			s.state = inString
		}
	case s.state == inEscape:
		switch b {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			s.state = inString
		case 'u':
			s.state, s.hex = inHex, 4
		default:
			return broken
		}
	case b == '\\':
		s.state = inEscape
	case b < ' ':
		return broken
	case b == '"' && s.key:
		s.state, s.key = expectColon, false
	case b == '"':
		return s.valueEnded()
	}
	return more
}

func (s *scanner) stepBetween(b byte) verdict {
	switch {
	case space(b):
		return more
	case s.state == expectColon:
		if b != ':' {
			return broken
		}
		s.state = expectValue
		return more
	case s.state == expectKey || s.state == expectFirstKey:
		if b == '"' {
			s.state, s.key = inString, true
			return more
		}
		if b == '}' && s.state == expectFirstKey {
			return s.close(b)
		}
		return broken
	case s.state == expectAfter:
		if b != ',' {
			return s.close(b)
		}
		if s.state = expectValue; s.open[len(s.open)-1] == '}' {
			s.state = expectKey
		}
		return more
	case s.state == expectFirstElement && b == ']':
		return s.close(b)
	}
	return s.begin(b)
}

func (s *scanner) close(b byte) verdict {
	if len(s.open) == 0 || s.open[len(s.open)-1] != b {
		return broken
	}
	s.open = s.open[:len(s.open)-1]
	return s.valueEnded()
}

// begin takes the first byte of a value.
func (s *scanner) begin(b byte) verdict {
	switch b {
	case '{', '[':
		if len(s.open) == maxDepth {
			return broken
		}
		s.open = append(s.open, b+2) // '}' and ']' stand two after their partners
		if s.state = expectFirstElement; b == '{' {
			s.state = expectFirstKey
		}
	case '"':
		s.state = inString
	case 't':
		s.state, s.rest = inLiteral, "rue"
	case 'f':
		s.state, s.rest = inLiteral, "alse"
	case 'n':
		s.state, s.rest = inLiteral, "ull"
	case '-':
		s.state = inMinus
	case '0':
		s.state = inZero
	default:
		if !digit(b) {
			return broken
		}
		s.state = inInt
	}
	return more
}

func (s *scanner) stepNumber(b byte) verdict {
	next := expectAfter
	switch {
	case s.state == inMinus && b == '0':
		next = inZero
	case (s.state == inMinus || s.state == inInt) && digit(b):
		next = inInt
	case (s.state == inZero || s.state == inInt) && b == '.':
		next = inDot
	case (s.state == inDot || s.state == inFraction) && digit(b):
		next = inFraction
	case (s.state == inZero || s.state == inInt || s.state == inFraction) && (b == 'e' || b == 'E'):
		next = inE
	case s.state == inE && (b == '+' || b == '-'):
		next = inESign
	case (s.state == inE || s.state == inESign || s.state == inExponent) && digit(b):
		next = inExponent
	case s.state == inMinus || s.state == inDot || s.state == inE || s.state == inESign:
		return broken
	}
	s.state = next
	if next == expectAfter && len(s.open) > 0 {
		return s.stepBetween(b) // the number has ended before this byte
	}
	return more
}
