package systemd

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
	"github.com/google/go-cmp/cmp"
)

type entry struct {
	Message  string
	Priority journal.Priority
	Fields   map[string]string
}

func TestJournalHandler(t *testing.T) {
	none := map[string]string{}
	for _, c := range []struct {
		name string
		log  func(*slog.Logger)
		want entry
	}{
		{"bare", func(l *slog.Logger) { l.Info("ready") }, entry{"ready", journal.PriInfo, none}},
		{
			"fields of a task",
			func(l *slog.Logger) {
				l.Warn("keeper lost", "task", "bash-7", "owner", "o-2", "scope", "/review", "error", errors.New("no record"))
			},
			entry{`keeper lost task=bash-7 owner=o-2 scope=/review error="no record"`, journal.PriWarning, map[string]string{"TASK": "bash-7", "OWNER": "o-2", "SCOPE": "/review"}},
		},
		{"of a logger made for it", func(l *slog.Logger) { l.With("task", "bash-7").With("n", 1).Error("x", "task", "bash-8") }, entry{"x task=bash-7 n=1 task=bash-8", journal.PriErr, map[string]string{"TASK": "bash-8"}}},
		{"in a group it is another thing", func(l *slog.Logger) { l.WithGroup("g").With("task", 1).Info("x", "owner", 2) }, entry{"x g.task=1 g.owner=2", journal.PriInfo, none}},
		{"no attribute makes a field of its own", func(l *slog.Logger) { l.Debug("x", "message", "y", "PRIORITY", 0, "level", 1, "time", 2, "msg", 3) }, entry{"x message=y PRIORITY=0 level=1 time=2 msg=3", journal.PriDebug, none}},
		{"a group as attribute", func(l *slog.Logger) { l.Info("x", slog.Group("task", "id", 7)) }, entry{"x task.id=7", journal.PriInfo, map[string]string{"TASK": "[id=7]"}}},
		{"a message of two lines stays one entry", func(l *slog.Logger) { l.Info("a\nb") }, entry{"a\nb", journal.PriInfo, none}},
		{"a level between", func(l *slog.Logger) { l.Log(context.Background(), slog.LevelWarn+1, "x") }, entry{"x", journal.PriWarning, none}},
	} {
		var got []entry
		h := newJournal(slog.LevelDebug, func(message string, p journal.Priority, fields map[string]string) error {
			if fields["SYSLOG_IDENTIFIER"] != "sidetask" {
				t.Errorf("%s: fields %v", c.name, fields)
			}
			delete(fields, "SYSLOG_IDENTIFIER")
			got = append(got, entry{message, p, fields})
			return nil
		}, nil)
		c.log(slog.New(h))
		if diff := cmp.Diff([]entry{c.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// A level that is changed counts at once; what is below it costs no entry.
func TestJournalLevel(t *testing.T) {
	var level slog.LevelVar
	n := 0
	log := slog.New(newJournal(&level, func(string, journal.Priority, map[string]string) error { n++; return nil }, nil))
	log.Debug("not")
	level.Set(slog.LevelDebug)
	log.Debug("now")
	if n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestJournalGone(t *testing.T) {
	var stderr strings.Builder
	log := slog.New(newJournal(slog.LevelInfo, func(string, journal.Priority, map[string]string) error { return errors.New("gone") }, &stderr))
	log.Error("a\nb", "task", "bash-7")
	if got, want := stderr.String(), "<3>a\\nb task=bash-7\n"; got != want {
		t.Errorf("on standard error %q, want %q", got, want)
	}
}

func TestJournalBound(t *testing.T) {
	var got string
	h := newJournal(slog.LevelInfo, func(message string, _ journal.Priority, _ map[string]string) error { got = message; return nil }, nil)
	r := slog.NewRecord(time.Now(), slog.LevelInfo, strings.Repeat("é", messageBytes), 0)
	if err := h.Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if len(got) > messageBytes+len("…") || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes, ending %q", len(got), got[len(got)-8:])
	}
}
