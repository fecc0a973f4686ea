package systemd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/journal"
)

// journalFields are the attributes that become fields of a journal entry, so
// that `journalctl --user TASK=bash-7` finds what happened to a task. Others are in
// the message alone: a field name made of anything could be MESSAGE or PRIORITY.
var journalFields = map[string]string{"task": "TASK", "owner": "OWNER", "scope": "SCOPE"}

// identifier is what `journalctl -t` knows this program by, as it would be
// without fields of ours.
const identifier = "sidetask"

// messageBytes bounds one entry, whatever an error brought along.
const messageBytes = 32 << 10

// NewJournalHandler logs to the journal, for a process whose standard error
// goes there ([Service.Journal]): with level and fields, and without a time, which the
// journal has. Where the journal does not answer the line goes to
// standard error, with the level as sd-daemon(3) writes it.
func NewJournalHandler(level slog.Leveler) slog.Handler {
	return newJournal(level, journal.Send, os.Stderr)
}

type sendFunc func(message string, priority journal.Priority, fields map[string]string) error

// journalHandler leaves the form of the message to the standard library: a
// text handler that writes into a buffer of its own for each record.
type journalHandler struct {
	level slog.Leveler
	send  sendFunc
	err   io.Writer
	with  []func(slog.Handler) slog.Handler // WithAttrs and WithGroup calls, in order
	known map[string]string                 // fields of WithAttrs outside any group
	group bool
}

func newJournal(level slog.Leveler, send sendFunc, stderr io.Writer) *journalHandler {
	return &journalHandler{level: level, send: send, err: stderr}
}

// Enabled is [slog.Handler]'s.
func (h *journalHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level.Level()
}

// Handle is [slog.Handler]'s.
func (h *journalHandler) Handle(ctx context.Context, r slog.Record) error {
	fields := map[string]string{"SYSLOG_IDENTIFIER": identifier}
	for name, value := range h.known {
		fields[name] = value
	}
	if !h.group {
		r.Attrs(func(a slog.Attr) bool {
			addField(fields, a)
			return true
		})
	}
	message, err := h.text(ctx, r)
	if err != nil {
		return err
	}
	priority := priorityOf(r.Level)
	if err := h.send(message, priority, fields); err != nil {
		_, err = fmt.Fprintf(h.err, "<%d>%s\n", priority, strings.ReplaceAll(message, "\n", "\\n"))
		return err
	}
	return nil
}

// text is the message with all attributes, as `msg key=value …`.
func (h *journalHandler) text(ctx context.Context, r slog.Record) (string, error) {
	var attrs strings.Builder
	var inner slog.Handler = slog.NewTextHandler(&attrs, nil)
	for _, with := range h.with {
		inner = with(inner)
	}
	// The journal has time and level itself, and the message goes in front
	// without quotes: what stands in their place is always the same.
	bare := slog.NewRecord(time.Time{}, slog.LevelInfo, "", 0)
	r.Attrs(func(a slog.Attr) bool {
		bare.AddAttrs(a)
		return true
	})
	if err := inner.Handle(ctx, bare); err != nil {
		return "", err
	}
	message := r.Message
	if rest := strings.TrimPrefix(strings.TrimSuffix(attrs.String(), "\n"), `level=INFO msg=""`); rest != "" {
		message += rest
	}
	if len(message) > messageBytes {
		message = strings.ToValidUTF8(message[:messageBytes], "") + "…"
	}
	return message, nil
}

// WithAttrs is [slog.Handler]'s.
func (h *journalHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := h.then(func(inner slog.Handler) slog.Handler { return inner.WithAttrs(attrs) })
	if !h.group {
		next.known = map[string]string{}
		for name, value := range h.known {
			next.known[name] = value
		}
		for _, a := range attrs {
			addField(next.known, a)
		}
	}
	return next
}

// WithGroup is [slog.Handler]'s.
func (h *journalHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := h.then(func(inner slog.Handler) slog.Handler { return inner.WithGroup(name) })
	next.group = true
	return next
}

func (h *journalHandler) then(with func(slog.Handler) slog.Handler) *journalHandler {
	next := *h
	next.with = append(h.with[:len(h.with):len(h.with)], with)
	return &next
}

func addField(fields map[string]string, a slog.Attr) {
	if name, ok := journalFields[a.Key]; ok {
		fields[name] = a.Value.Resolve().String()
	}
}

// priorityOf gives the levels of syslog(3) that the journal filters by.
func priorityOf(level slog.Level) journal.Priority {
	switch {
	case level >= slog.LevelError:
		return journal.PriErr
	case level >= slog.LevelWarn:
		return journal.PriWarning
	case level >= slog.LevelInfo:
		return journal.PriInfo
	}
	return journal.PriDebug
}
