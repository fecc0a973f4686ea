package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/systemd"
)

// maxLogBytes bounds the log file of a daemon that nobody's terminal or
// journal listens to. The one before it is kept beside it.
const maxLogBytes = 4 << 20

// logger writes as [log] says and follows it through reloads. SIDETASK_LOG in
// the environment outranks the level of the file.
type logger struct {
	*slog.Logger
	level   slog.LevelVar
	journal bool
	w       io.WriteCloser
	current atomic.Pointer[slog.Handler]
}

func newLogger(w io.WriteCloser, journal bool, settings config.Log) *logger {
	l := &logger{w: w, journal: journal}
	l.Logger = slog.New(following{l, func(h slog.Handler) slog.Handler { return h }})
	if name := os.Getenv("SIDETASK_LOG"); name != "" && l.level.UnmarshalText([]byte(name)) != nil {
		defer l.Warn("SIDETASK_LOG is none of debug, info, warn, error: the level of the configuration holds", "SIDETASK_LOG", name)
	}
	l.follow(settings)
	return l
}

func (l *logger) close() { _ = l.w.Close() }

// follow takes over changed settings.
func (l *logger) follow(settings config.Log) {
	if l.level.UnmarshalText([]byte(os.Getenv("SIDETASK_LOG"))) != nil {
		_ = l.level.UnmarshalText([]byte(settings.Level)) // config has checked it
	}
	var h slog.Handler
	switch {
	case settings.Format == "auto" && l.journal:
		h = systemd.NewJournalHandler(&l.level)
	case settings.Format == "tint", settings.Format == "auto" && isTerminal(l.w):
		h = tint.NewTextHandler(l.w, &tint.Options{Level: &l.level, NoColor: !isTerminal(l.w)})
	default:
		h = slog.NewJSONHandler(l.w, &slog.HandlerOptions{Level: &l.level})
	}
	l.current.Store(&h)
}

// following hands each record to the logger's handler as it is then.
type following struct {
	l      *logger
	derive func(slog.Handler) slog.Handler
}

func (f following) Enabled(_ context.Context, level slog.Level) bool {
	return level >= f.l.level.Level()
}

func (f following) Handle(ctx context.Context, r slog.Record) error {
	return f.derive(*f.l.current.Load()).Handle(ctx, r)
}

func (f following) WithAttrs(attrs []slog.Attr) slog.Handler {
	return following{f.l, func(h slog.Handler) slog.Handler { return f.derive(h).WithAttrs(attrs) }}
}

func (f following) WithGroup(name string) slog.Handler {
	return following{f.l, func(h slog.Handler) slog.Handler { return f.derive(h).WithGroup(name) }}
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

// logFile appends to a file and starts it anew when it is full, and when it was
// deleted: the state folder may be made anew under a living daemon.
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
	if l.size+int64(len(record)) > maxLogBytes && !l.gone() {
		_ = os.Rename(l.path, l.path+".1")
	}
	if l.gone() {
		old := l.file
		if l.open() == nil { // else the old one is better than none
			_ = old.Close()
		}
	}
	n, err := l.file.Write(record)
	l.size += int64(n)
	return n, err
}

// gone says whether what stands at the path is another file, or none.
func (l *logFile) gone() bool {
	ours, err := l.file.Stat()
	if err != nil {
		return false // closed: nothing is written any more
	}
	there, err := os.Stat(l.path)
	return err != nil || !os.SameFile(ours, there)
}

// Close ends it.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
