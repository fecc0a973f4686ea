package render

import (
	"encoding/json"
	"strings"
)

// Card is how an editor shows a call of one of the tools (BEHAVIOUR T171, ACP.md
// §5): always ACP's generic card.
type Card struct {
	Title string
	Kind  string // "read" or "execute"
	// RawInput is the call in short, as a JSON string: the command or the task's
	// id. Absent for task_list. A proxy leaves the agent's own in place.
	RawInput json.RawMessage
}

// CardOf gives the card of a call. ok is false for another tool's call and for
// bad arguments: then there is no card of ours, and no error either.
func CardOf(name string, args json.RawMessage) (card Card, ok bool) {
	if CheckArguments(name, args) != nil {
		return Card{}, false
	}
	given, _ := members(args)
	text := func(name string) (s string) {
		_ = json.Unmarshal(given[name], &s) // the arguments are checked; an absent one is empty
		return s
	}
	id, command := text("task_id"), text("command")
	shown, title := ellipsize(OneLine(id)), firstLine(command)
	switch {
	case name == toolList:
		return Card{Title: "List background tasks", Kind: "read"}, true
	case name == toolStart && title != "":
		return Card{Title: title, Kind: "execute", RawInput: quote(command)}, true
	case name == toolOutput && id != "":
		return Card{Title: "Read output from background task " + shown, Kind: "read", RawInput: quote(id)}, true
	case name == toolKill && id != "":
		return Card{Title: "Kill background task " + shown, Kind: "execute", RawInput: quote(id)}, true
	default:
		return Card{}, false
	}
}

// firstLine is the first line of a command that has more than white space, cut
// for a title; "" where there is nothing to be seen. Whoever allows the command must see that there is more of it.
func firstLine(command string) string {
	line, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	title := strings.TrimSpace(OneLine(line))
	if more {
		title += "…"
	}
	return ellipsize(title)
}
