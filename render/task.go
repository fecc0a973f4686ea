package render

import (
	"strings"
	"unicode"
)

// Task is what texts show of a task.
type Task struct {
	ID     string
	Kind   string
	Label  string
	Status string  // running, stopping, completed, killed, failed
	Detail *string // nil: none; an empty one still counts as present (BEHAVIOUR T120)
}

// live reports whether the task has not ended.
func (t Task) live() bool { return t.Status == "running" || t.Status == "stopping" }

// StatusLine is the last line of every answer about a task (BEHAVIOUR T120).
func StatusLine(t Task) string {
	if t.Detail == nil {
		return "[status: " + t.Status + "]"
	}
	return "[status: " + t.Status + ", " + *t.Detail + "]"
}

// Started acknowledges a start (BEHAVIOUR T186).
func Started(id string) string { return "started background task " + id }

// KillText acknowledges a kill (BEHAVIOUR T125). already: the task had ended
// before it.
func KillText(t Task, already bool) string {
	if already {
		return "task " + t.ID + " had already finished " + StatusLine(t)
	}
	return "requested cancellation of task " + t.ID
}

// ErrorText is the one text block of a tool error (BEHAVIOUR T126).
func ErrorText(message string) string { return "Error: " + message }

// Label shows a label on one line: each line break and control character is a
// space, malformed UTF-8 is U+FFFD (the table's row on T124). Kinds and ids need
// none of it.
func Label(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}

// OneLine is [Label] for what a person sees: also without the characters that
// reorder what stands around them (bidi), by which a command could pretend to be
// something else.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, Label(s))
}

// maxUnits is how many UTF-16 code units of a summary, a list's label and a
// card's title are shown (BEHAVIOUR T161, T124, ACP.md §5).
const maxUnits = 120

// ellipsize cuts s to at most maxUnits UTF-16 code units, an ellipsis counted.
// No surrogate pair is cut in half, so it may be one unit less (the table's row
// on T161).
func ellipsize(s string) string {
	units, cut := 0, -1
	for i, r := range s {
		n := 1
		if r > 0xFFFF {
			n = 2
		}
		if cut < 0 && units+n > maxUnits-1 {
			cut = i
		}
		units += n
		if units > maxUnits {
			return s[:cut] + "…"
		}
	}
	return s
}
