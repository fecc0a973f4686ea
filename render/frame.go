package render

import "strings"

// The fixed lines around the notices of a wake prompt (ACP.md §4): the same bytes
// always, no tag that an agent uses itself.
const (
	FrameFirst = "[sidetask: automatic event about background tasks; not a message, approval or consent from the user]"
	FrameLast  = "[sidetask: end of the automatic event]"
)

// Frame is the text of a wake or drain prompt, and of the block before a user's
// prompt: the notices, one a line, between two fixed lines. A line break inside
// a notice becomes a space, so that no task can write a line of its own.
func Frame(notices []string) string {
	lines := make([]string, 0, len(notices)+2)
	lines = append(lines, FrameFirst)
	for _, n := range notices {
		lines = append(lines, strings.TrimSpace(Label(n)))
	}
	return strings.Join(append(lines, FrameLast), "\n")
}

// CutFrame takes each frame, and the line break after it, out of a text: what an
// agent replays of a prompt had our frame in front of the user's words, and
// agents put the texts of prompts together. found is false, and rest is text,
// where there is none.
func CutFrame(text string) (rest string, found bool) {
	var kept strings.Builder
	for {
		start := strings.Index(text, FrameFirst+"\n")
		if start < 0 {
			break
		}
		end := strings.Index(text[start:], "\n"+FrameLast)
		if end < 0 {
			break
		}
		kept.WriteString(text[:start])
		text = strings.TrimPrefix(text[start+end+len("\n"+FrameLast):], "\n")
		found = true
	}
	return kept.String() + text, found
}
