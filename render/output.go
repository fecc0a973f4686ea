package render

import (
	"math"
	"strconv"
	"strings"
)

// OutputText is one read of a task, to be shown.
type OutputText struct {
	Task    Task
	Text    string // what was read: all of it, or its end
	LeftOut int64  // bytes of the text that stood in front of Text and were not read (see Keep)
	Limit   int64  // bytes of the complete text; 0 or less: none
	// Default: Limit is a command's default cap, nobody asked for it: the marker
	// says how much is left out and where to see it (the table's row on T194).
	Default bool
}

// Output is the text of task_output: the output, then the status line as the
// last (BEHAVIOUR T121), within the limit (T140–T142).
func Output(o OutputText) string {
	status := StatusLine(o.Task)
	body := o.Text
	if body == "" && o.LeftOut == 0 {
		body = "(no new output)"
	}
	content := strings.TrimSuffix(body, "\n")
	suffix := "\n" + status
	if o.Limit <= 0 || o.LeftOut == 0 && int64(len(content)+len(suffix)) <= o.Limit {
		return content + suffix
	}
	if o.Default {
		return capped(o, content, suffix)
	}
	return squeeze(content, suffix, o.Limit, outputMarker)
}

// leftOut is the marker line of a default cap.
func leftOut(n int64, id string) string {
	return "\n[" + strconv.FormatInt(n, 10) + " bytes left out; see: sidetask tail " + id + "]"
}

// countRoom is how many digits of the number in leftOut have room reserved, so
// that what is kept does not depend on the number (the table's row on T194).
const countRoom = 20

// capped is squeeze with the marker of a default cap.
func capped(o OutputText, content, suffix string) string {
	room := int64(len(leftOut(0, o.Task.ID))-1+countRoom) + int64(len(suffix))
	kept := ""
	if room < o.Limit {
		kept = tail(content, o.Limit-room)
	}
	omitted := o.LeftOut + int64(len(content)-len(kept))
	return tail(kept+leftOut(omitted, o.Task.ID)+suffix, o.Limit)
}

// Keep says how many bytes of a task's text are worth reading under a limit: of a
// longer text the end is enough, its length given as OutputText.LeftOut. 0 means
// all of it.
func Keep(limit int64) int64 {
	// One byte for the line break that the status line absorbs, three for a
	// reader that keeps whole code points only; and never so few that the end of
	// an existing marker (T142) could not be seen.
	const slack, least = 4, 64
	if limit <= 0 || limit > math.MaxInt64-slack {
		return 0
	}
	return max(limit+slack, least)
}
