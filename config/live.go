package config

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"

	"sidetask/scope"
)

// Live is the configuration in force. Safe for concurrent use.
type Live struct {
	path       string
	log        *slog.Logger
	newWatcher func() (*fsnotify.Watcher, error) // the boundary to the kernel
	timing     timing
	watching   chan struct{} // closed when Run has begun to watch

	now atomic.Pointer[snapshot] // stored under mu only

	// turn is held by whoever reads, verifies and commits: one reload at a
	// time. It is taken before mu.
	turn chan struct{}
	seen content // what was dealt with last; guarded by turn

	mu          sync.Mutex // guards what follows, and the order of snapshots
	state       State
	attached    []*attachment
	attachments int // so far, for ids
	subscribers registered[subscriber]
	onMounts    registered[func()]
	onState     registered[func(State)]
}

// snapshot is all that is in force at one moment: immutable.
type snapshot struct {
	settings *Settings
	origins  Origins
	mounts   map[scope.Path]Mount // of file and connections
	table    scope.Table[Mount]   // the same, to be looked up along a chain
	listed   Origins              // with those of attached mounts
}

// State is what there is to say of the configuration itself.
type State struct {
	Path    string
	Present bool      // false: no file, the defaults are in force
	Watch   string    // "inotify", "polling (reason)", "off" before Run
	Errors  []string  // why the file as it is now is not in force; never nil
	Changed time.Time // when the settings in force came into force
}

func (s State) equal(o State) bool {
	return s.Path == o.Path && s.Present == o.Present && s.Watch == o.Watch && s.Changed.Equal(o.Changed) && slices.Equal(s.Errors, o.Errors)
}

// Open loads the file (see [Load]) and puts it in force. Nothing is watched
// before [Live.Run]. The error is [Errors], or that of a path that cannot be
// made absolute.
func Open(path string, log *slog.Logger) (*Live, error) {
	if !filepath.IsAbs(path) { // not cleaned otherwise: ".." after a symbolic link means the link's target
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		path = abs
	}
	c := read(path)
	settings, origins, err := c.parse(path)
	if err != nil {
		return nil, err
	}
	l := &Live{
		path: path, log: log, newWatcher: newWatcher, timing: usual, watching: make(chan struct{}),
		turn: make(chan struct{}, 1), seen: c,
		state: State{Path: path, Present: !c.absent, Watch: "off", Errors: []string{}, Changed: time.Now()},
	}
	next, _ := combine(settings, origins, nil)
	l.now.Store(next)
	return l, nil
}

// Current is the settings in force: immutable.
func (l *Live) Current() *Settings { return l.now.Load().settings }

// Watching is closed when [Live.Run] watches, or polls: from then on no save is missed.
func (l *Live) Watching() <-chan struct{} { return l.watching }

// Mount is the mount that serves a scope: the nearest table at or above it.
// False where that table is disabled or there is none.
func (l *Live) Mount(at scope.Path) (Mount, bool) {
	m, _, ok := l.now.Load().table.Nearest(at)
	if !ok || !m.Enabled {
		return Mount{}, false
	}
	return m, true
}

// Mounts are all tables, of file and connections, by scope; disabled ones too.
func (l *Live) Mounts() []Mount {
	mounts := l.now.Load().mounts
	list := make([]Mount, 0, len(mounts))
	for _, at := range slices.Sorted(maps.Keys(mounts)) {
		list = append(list, mounts[at])
	}
	return list
}

// Settings lists all settings in force, with those of attached mounts.
func (l *Live) Settings() []Setting {
	now := l.now.Load()
	all := *now.settings
	all.Mounts = now.mounts
	return List(&all, now.listed)
}

// State says where the file is, how it is watched and what is wrong with it.
func (l *Live) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stateLocked()
}

func (l *Live) stateLocked() State {
	s := l.state
	s.Errors = append([]string{}, s.Errors...)
	return s
}

// tell changes the state and tells the listeners if it is another then. Called
// by whoever holds the turn, so that states arrive in their order.
func (l *Live) tell(change func(*State)) {
	l.mu.Lock()
	before := l.stateLocked()
	change(&l.state)
	after, listeners := l.stateLocked(), l.onState.all()
	l.mu.Unlock()
	if before.equal(after) {
		return
	}
	for _, fn := range listeners {
		fn(after)
	}
}

// take waits for the turn.
func (l *Live) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Live) pass() { <-l.turn }
