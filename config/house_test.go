package config

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// deadMan ends a test that waits for what never happens.
const deadMan = 2 * time.Minute

// quick makes a reload take milliseconds. Nothing depends on these numbers.
var quick = timing{quiet: 5 * time.Millisecond, most: 200 * time.Millisecond, gone: 20 * time.Millisecond, writing: time.Hour, poll: 5 * time.Millisecond}

// content of version n: the same number in tables far apart, so that a mix shows.
func version(n int) string {
	return fmt.Sprintf("[limits]\nmaxConnections = %d\n%s[mounts.\"/\"]\nmaxConsecutiveWakes = %d\n[retention]\ntasks = %d\n", n, strings.Repeat("# filler\n", n%50), n, n)
}

// versionOf is the version in force; -1 for a mix, 0 for the defaults.
func versionOf(s *Settings) int {
	n, wakes, tasks := s.Limits.MaxConnections, s.Mounts["/"].MaxConsecutiveWakes, s.Retention.Tasks
	switch {
	case n == wakes && n == tasks:
		return int(n)
	case n == 1024 && wakes == 3 && tasks == 1000:
		return 0
	}
	return -1
}

// house is a Live that runs, with all that it says.
type house struct {
	*Live
	t       *testing.T
	log     *logged
	commits chan int // versions in the order in which they came into force
	states  chan State
}

// logged is a log that may be read while it is written.
type logged struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), s)
}

func open(t *testing.T, path string) *house {
	t.Helper()
	log := new(logged)
	l, err := Open(path, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l.timing = quick
	h := &house{Live: l, t: t, log: log, commits: make(chan int, 10000), states: make(chan State, 10000)}
	l.Subscribe(nil, func(_, next *Settings) { h.commits <- versionOf(next) })
	l.OnState(func(s State) { h.states <- s })
	return h
}

// run starts Run and waits until it watches.
func (h *house) run() {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Live.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Errorf("Run = %v, want nil", err)
		}
	})
	h.until(func(s State) bool { return s.Watch != "off" })
}

// poll makes the kernel refuse an inotify instance.
func (h *house) exhaust() {
	h.newWatcher = func() (*fsnotify.Watcher, error) {
		return nil, fmt.Errorf("no inotify instance: %w", syscall.EMFILE)
	}
}

// until waits for a state.
func (h *house) until(ok func(State) bool) State {
	h.t.Helper()
	dead := time.After(deadMan)
	for {
		select {
		case s := <-h.states:
			if ok(s) {
				return s
			}
		case <-dead:
			h.t.Fatalf("the state never came; it is %+v", h.State())
		}
	}
}

// await waits for a version to come into force.
func (h *house) await(n int) {
	h.t.Helper()
	dead := time.After(deadMan)
	for {
		select {
		case got := <-h.commits:
			if got == -1 {
				h.t.Fatal("a mix of two files came into force")
			}
			if got == n {
				return
			}
		case <-dead:
			h.t.Fatalf("version %d never came into force; it is %d, state %+v", n, versionOf(h.Current()), h.State())
		}
	}
}
