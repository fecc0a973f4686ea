package process

import (
	"bytes"
	"unicode/utf8"
)

// tail keeps the end of a text that is appended to, and counts all of it.
type tail struct {
	keep  int   // bytes to be kept; 0 = all
	total int64 // bytes of the whole text
	buf   []byte
}

func (t *tail) append(p []byte) {
	t.total += int64(len(p))
	if t.keep > 0 {
		if len(p) >= t.keep {
			t.buf = append(t.buf[:0], p[len(p)-t.keep:]...)
			return
		}
		// Moved to the front only now and then: each byte is moved once on average.
		if over := len(t.buf) + len(p) - 2*t.keep; over > 0 {
			t.buf = append(t.buf[:0], t.buf[len(t.buf)-(t.keep-len(p)):]...)
		}
	}
	t.buf = append(t.buf, p...)
}

// add appends the whole of a text of which another tail kept the end.
func (t *tail) add(other *tail) {
	t.append(other.buf)
	t.total += other.total - int64(len(other.buf))
}

func (t *tail) reset() { t.total, t.buf = 0, t.buf[:0] }

// chop takes the last character off again, as far as it is kept.
func (t *tail) chop() {
	_, size := utf8.DecodeLastRune(t.buf)
	t.buf = t.buf[:len(t.buf)-size]
	t.total -= int64(size)
}

// last gives at most keep bytes of the end, from a whole character on, and how
// many bytes are left out before them. keep <= 0: all that is kept.
func (t *tail) last(keep int) (text []byte, leftOut int64) {
	text = t.buf
	if keep > 0 && len(text) > keep {
		text = text[len(text)-keep:]
	}
	if int64(len(text)) < t.total {
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	return text, t.total - int64(len(text))
}

// endsLine reports whether the text is empty or ends with a newline.
func (t *tail) endsLine() bool { return t.total == 0 || bytes.HasSuffix(t.buf, []byte{'\n'}) }
