package process

import "sidetask/spool"

// loss is a gap in the spool: a line of the text says where it is, which begins
// after so many bytes of text.
type loss struct{ at, bytes int64 }

// losses are all gaps of a text, in order.
type losses []loss

// add notes one more. Of a text of which only the end is kept, the gaps that are
// surely in front of that become one, so that there never are many.
func (l *losses) add(next loss, keep int64) {
	if n := len(*l); keep > 0 && n > 1 && (*l)[1].at < next.at-keep {
		(*l)[1].bytes += (*l)[0].bytes
		*l = (*l)[1:]
	}
	*l = append(*l, next)
}

// note is the line, at the end of the text, for gaps whose own lines are left out
// with the first bytes; "" if there are none. A line that is about to be cut may
// be told of twice.
func (l losses) note(leftOut int64) string {
	var total int64
	for _, one := range l {
		if one.at < leftOut+spool.CutRoom {
			total += one.bytes
		}
	}
	if total == 0 {
		return ""
	}
	return spool.GoneBefore(total)
}
