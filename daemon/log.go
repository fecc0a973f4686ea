package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/systemd"
)

// maxLogBytes bounds the log file of a daemon that nobody's terminal or
// journal listens to. The one before it is kept beside it.
const maxLogBytes = 4 << 20

// logger writes as [log] says. The level follows a reload; SIDETASK_LOG in the
// environment outranks the file.
type logger struct {
	*slog.Logger
	level slog.LevelVar
	w     io.WriteCloser
}

func newLogger(w io.WriteCloser, format string, journal bool) *logger {
	l := &logger{w: w}
	if format == "auto" && journal {
		l.Logger = slog.New(systemd.NewJournalHandler(&l.level))
	} else if format == "tint" || format == "auto" && isTerminal(w) {
		l.Logger = slog.New(tint.NewTextHandler(w, &tint.Options{Level: &l.level, NoColor: !isTerminal(w)}))
	} else {
		l.Logger = slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: &l.level}))
	}
	return l
}

func (l *logger) close() { _ = l.w.Close() }

// follow takes over a changed level.
func (l *logger) follow(settings config.Log) {
	name := settings.Level
	if env := os.Getenv("SIDETASK_LOG"); env != "" {
		name = env
	}
	var level slog.Level
	if level.UnmarshalText([]byte(strings.ToUpper(name))) == nil {
		l.level.Set(level)
	}
}

func isTerminal(w io.Writer) bool {
	if kept, ok := w.(nopCloser); ok {
		w = kept.Writer
	}
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// noteEnd logs the end of a task, under the attributes that are fields in the
// journal. Neither label nor command: they may hold what is nobody else's.
func (d *daemon) noteEnd(t registry.Task) {
	attrs := []any{"task", t.ID, "owner", string(t.Owner), "scope", string(t.Scope), "status", string(t.Status)}
	if t.Detail != nil {
		attrs = append(attrs, "detail", *t.Detail)
	}
	d.log.Info("a task has ended", attrs...)
}

// logFile appends to a file and starts it anew when it is full.
type logFile struct {
	path string

	mu   sync.Mutex // guards file and size
	file *os.File
	size int64
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return l, nil
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write appends one record. A log that cannot be written stops nothing.
func (l *logFile) Write(record []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(record)) > maxLogBytes {
		_ = l.file.Close()
		_ = os.Rename(l.path, l.path+".1")
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(record)
	l.size += int64(n)
	return n, err
}

// Close ends it.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
