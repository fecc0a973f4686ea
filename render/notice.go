package render

// The parts of a notice (BEHAVIOUR T156, T157).
const (
	noticeEnd    = ". Read its output with task_output."
	noticeAction = "\nDone; task_output."
)

// Notice is the one line that tells an owner of a task's end (BEHAVIOUR T156),
// within limit bytes by the priorities of T157 and T158: the action, then the
// id, then the marker, then the rest. limit 0 or less is none. A producer's words
// make no second line, for that could pass for another notice.
func Notice(t Task, limit int64) string {
	prefix := "background task " + t.ID
	variable := " (" + t.Kind + ": " + Label(t.Label) + ") finished " + Label(StatusLine(t))
	size := func(s string) int64 { return int64(len(s)) }
	switch fixed := prefix + noticeMarker + noticeAction; {
	case limit <= 0 || size(prefix+variable+noticeEnd) <= limit:
		return prefix + variable + noticeEnd
	case size(fixed) <= limit:
		return prefix + head(variable, limit-size(fixed)) + noticeMarker + noticeAction
	case size(prefix+noticeAction) <= limit:
		return prefix + noticeAction
	case size(noticeAction) >= limit:
		return tail(noticeAction, limit)
	default:
		return head(prefix, limit-size(noticeAction)) + noticeAction
	}
}

// Summary is a notice for lists and title bars, at most 120 UTF-16 code units
// (BEHAVIOUR T161).
func Summary(t Task) string {
	return ellipsize(Label(t.Kind + " " + t.Label + " " + StatusLine(t)))
}
