package render

import (
	"fmt"
	"strings"
)

// shownFinished is how many finished tasks task_list shows, the newest (the
// table's row on T124).
const shownFinished = 20

// Select picks what task_list shows of an owner's tasks, which come in the order
// of their registration: all live ones and the newest finished. older counts the
// finished ones left out. all is not changed.
func Select(all []Task) (shown []Task, older int) {
	finished := 0
	for _, t := range all {
		if !t.live() {
			finished++
		}
	}
	older = max(0, finished-shownFinished)
	skip := older
	for _, t := range all {
		if !t.live() && skip > 0 {
			skip--
			continue
		}
		shown = append(shown, t)
	}
	return shown, older
}

// List is the text of task_list for what [Select] gave: a line per task, no line
// break at the end (BEHAVIOUR T124 and the table's row on it). It is never
// bounded by a task's limit (T138).
func List(tasks []Task, older int) string {
	if len(tasks) == 0 && older == 0 {
		return "(no background tasks)"
	}
	lines := make([]string, 0, len(tasks)+1)
	for _, t := range tasks {
		lines = append(lines, fmt.Sprintf("%s [%s] %s — %s", t.ID, t.Kind, t.Status, ellipsize(Label(t.Label))))
	}
	if older > 0 {
		lines = append(lines, fmt.Sprintf("(%d older)", older))
	}
	return strings.Join(lines, "\n")
}
