package daemon

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"sidetask/config"
)

// A reload changes level and format at once; SIDETASK_LOG outranks the level,
// and a bad one is said and does not (CONFIG [log]).
func TestLogFollows(t *testing.T) {
	for _, c := range []struct{ env, want string }{
		{"", "json: one\ntext: four\n"},
		{"error", ""},
		{"loud", "json: SIDETASK_LOG is none of debug, info, warn, error: the level of the configuration holds\njson: one\ntext: four\n"},
	} {
		t.Setenv("SIDETASK_LOG", c.env)
		var out bytes.Buffer
		l := newLogger(nopCloser{io.Writer(&out)}, false, config.Log{Level: "info", Format: "json"})
		child := l.With("a", 1)
		l.Info("one")
		l.Debug("two")
		l.follow(config.Log{Level: "warn", Format: "tint"})
		l.Info("three")
		child.Warn("four")
		if got := kinds(out.String()); got != c.want {
			t.Errorf("SIDETASK_LOG=%q:\n got %q\nwant %q\n%s", c.env, got, c.want, out.String())
		}
	}
}

// kinds tells of each line its form and message.
func kinds(log string) string {
	var all strings.Builder
	for line := range strings.Lines(log) {
		form, rest := "text", line
		if _, message, ok := strings.Cut(line, `"msg":"`); ok {
			form = "json"
			rest, _, _ = strings.Cut(message, `"`)
		} else if fields := strings.Fields(line); len(fields) > 4 {
			rest = fields[4]
		}
		all.WriteString(form + ": " + strings.TrimSpace(rest) + "\n")
	}
	return all.String()
}
