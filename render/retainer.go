package render

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Retainer keeps the beginning and the end of a long text that comes in pieces,
// in bounded memory (BEHAVIOUR T127–T136). A Retainer is for one goroutine.
type Retainer struct {
	headMax, tailMax int
	head, tail       []byte // tail may grow to twice tailMax before it is cut
	total            int64
}

// NewRetainer keeps the first headBytes and the last tailBytes of a text; either
// may be 0.
func NewRetainer(headBytes, tailBytes int) (*Retainer, error) {
	if headBytes < 0 {
		return nil, errors.New("headBytes must be a non-negative integer")
	}
	if tailBytes < 0 {
		return nil, errors.New("tailBytes must be a non-negative integer")
	}
	return &Retainer{headMax: headBytes, tailMax: tailBytes}, nil
}

// Push adds a piece. kept: all of it is within the budget, counted untrimmed;
// truncated: something of the whole is not (T133).
func (r *Retainer) Push(piece string) (kept, truncated bool) {
	r.total += int64(len(piece))
	truncated = r.total > int64(r.headMax)+int64(r.tailMax)
	kept = piece == "" || !truncated

	n := min(len(piece), r.headMax-len(r.head))
	r.head = append(r.head, piece[:n]...)
	piece = piece[n:]
	if len(piece) > r.tailMax {
		piece = piece[len(piece)-r.tailMax:]
		r.tail = r.tail[:0]
	}
	r.tail = append(r.tail, piece...)
	if len(r.tail) > 2*r.tailMax {
		r.tail = append(r.tail[:0], r.tail[len(r.tail)-r.tailMax:]...)
	}
	return kept, truncated
}

// Text is what is kept: the whole text where it fits (T128), else its beginning
// and its end, cut at code points, with nothing between (T129–T132). omitted is
// exactly how many bytes are not in it (T133). Malformed bytes are U+FFFD (T136);
// a BOM stays (the table's row on T135).
func (r *Retainer) Text() (text string, omitted int64) {
	end := r.tail[max(0, len(r.tail)-r.tailMax):]
	if r.total <= int64(r.headMax)+int64(r.tailMax) {
		return strings.ToValidUTF8(string(r.head)+string(end), "\uFFFD"), 0
	}
	first, last := wholeHead(string(r.head)), wholeTail(string(end))
	omitted = r.total - int64(len(first)) - int64(len(last))
	return strings.ToValidUTF8(first, "\uFFFD") + strings.ToValidUTF8(last, "\uFFFD"), omitted
}

// wholeHead drops an incomplete code point at the end of s.
func wholeHead(s string) string {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

// wholeTail drops the rest of a cut code point at the beginning of s.
func wholeTail(s string) string {
	i := 0
	for i < len(s) && i < utf8.UTFMax-1 && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}
