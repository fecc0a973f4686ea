package daemon

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
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

// The log of a daemon that nobody watches is made anew when its folder was deleted and
// is there again, and is moved aside when it is full.
func TestLogComesBack(t *testing.T) {
	t.Setenv("SIDETASK_LOG", "")
	dir := filepath.Join(t.TempDir(), "state")
	makeDir := func() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	makeDir()
	path := filepath.Join(dir, "daemon.log")
	file, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	l := newLogger(file, false, config.Log{Level: "info", Format: "json"})
	defer l.close()
	want := func(path, want string) {
		t.Helper()
		if text, err := os.ReadFile(path); err != nil || kinds(string(text)) != want {
			t.Errorf("%s: %v, %q, want %q", path, err, kinds(string(text)), want)
		}
	}
	l.Info("one")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	l.Info("two") // nowhere to put it
	makeDir()
	l.Info("three")
	l.Info("four")
	want(path, "json: three\njson: four\n")
	file.size = maxLogBytes
	l.Info("five")
	want(path, "json: five\n")
	want(path+".1", "json: three\njson: four\n")
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
