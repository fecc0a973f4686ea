package wire

import "bytes"

const (
	// longString is the size from which a string of a line is worth remembering
	// what stands around it.
	longString = 256
	// maxAround is how much of that is remembered.
	maxAround = 4 << 10
)

// Scanner is [Scan] for a stream of lines that are much alike, as the updates of
// one message are. Envelopes depend on the names in a line and on its brackets,
// so a line that differs from the one before inside a string that is no name has
// the same, but for what lies behind that. The zero Scanner is ready.
type Scanner struct {
	head, tail []byte   // of a line before, up to that string's first quote, and from its last
	envelope   Envelope // with one byte for the string
}

// Scan does what [Scan] does.
func (s *Scanner) Scan(line []byte) (Envelope, bool) {
	if open := len(s.head) - 1; open > 0 && bytes.HasPrefix(line, s.head) {
		if end, ok := skipString(line, open); ok && bytes.Equal(line[end-1:], s.tail) {
			return s.envelope.spread(open, end-open-1), true
		}
	}
	e, ok := Scan(line)
	if ok && len(line) > longString && len(line) <= blockSize {
		s.remember(line, e)
	}
	return e, ok
}

// remember takes what stands around the longest string, if that is a long one.
func (s *Scanner) remember(line []byte, e Envelope) {
	var longest Span
	for i := bytes.IndexByte(line, '"'); i >= 0; {
		end, _ := skipString(line, i) // strings are whole: it was scanned
		after := skipSpace(line, end)
		isName := after < len(line) && line[after] == ':'
		if !isName && end-i > longest.To-longest.From {
			longest = Span{i, end}
		}
		next := bytes.IndexByte(line[end:], '"')
		if next < 0 {
			break
		}
		i = end + next
	}
	s.head, s.tail = s.head[:0], s.tail[:0]
	if size := longest.To - longest.From; size > longString && len(line)-size <= maxAround {
		s.head = append(s.head, line[:longest.From+1]...)
		s.tail = append(s.tail, line[longest.To-1:]...)
		s.envelope = e.spread(longest.From, 1-size)
	}
}

// spread is the envelope when the string at open is longer by so many bytes.
func (e Envelope) spread(open, by int) Envelope {
	for _, s := range []*Span{&e.ID, &e.Method, &e.Params, &e.Result, &e.Error, &e.Session, &e.Update, &e.Kind} {
		if s.From > open {
			s.From += by
		}
		if s.To > open {
			s.To += by
		}
	}
	return e
}
