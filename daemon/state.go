package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"sidetask/paths"
	"sidetask/registry"
	"sidetask/store"
)

// stateEvery is how often the files of the state folder are looked at where they
// cannot be watched.
const stateEvery = time.Minute

// settleState is when they are looked at again after they were made anew: the deletion
// of a whole folder may take some of the new ones along.
const settleState = time.Second

// state is what the daemon itself holds open in the state folder: the lock and the
// database. Somebody may delete that folder under it (a person who wants to begin
// anew, a test's clean-up). Both files go on to work then, and are nowhere: the next
// daemon would know no task, and could be a second one. Since all that is kept
// is in memory, too, both are made anew.
type state struct {
	paths    paths.Paths
	registry *registry.Registry
	warn     func(msg string, args ...any)

	mu      sync.Mutex // guards all below
	locked  *lock
	serving bool // as the lock file says
	kept    *store.Store
	yielded error // another daemon has all this; for good
}

// say writes into the lock file whether clients may expect an answer.
func (s *state) say(serving bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = serving
	return s.locked.name(s.paths.Socket, serving)
}

// look is how mend looks: at the files, or also at all that is in them, for a daemon
// that is about to give up what it has in memory.
type look int

const (
	roughly look = iota
	closely
)

// mend makes anew what is gone, and says whether anything was. The error says what
// is lost with this daemon as long as that cannot be done, and why.
func (s *state) mend(how look) (mended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.yielded != nil {
		return false, s.yielded
	}
	unlocked, lost := s.locked.gone(s.paths.Lock()), s.kept.Gone() || how == closely && s.kept.Damaged()
	if !unlocked && !lost {
		return false, nil
	}
	err = s.remake(unlocked, lost)
	if busy := (&BusyError{}); errors.As(err, &busy) && s.kept.InPlace() {
		return false, s.yield(busy)
	}
	if err != nil {
		return false, fmt.Errorf("the state folder %s was deleted and cannot be made anew, so this daemon's tasks would be lost with it; end no daemon before that is mended: %w", s.paths.State, err)
	}
	s.warn("the state folder was deleted or damaged, or something of it: it is made anew", "folder", s.paths.State)
	return true, nil
}

// remake makes the lock first: whoever has it may touch the rest.
func (s *state) remake(unlocked, lost bool) error {
	if err := paths.Private(s.paths.State); err != nil {
		return err
	}
	if unlocked {
		if another := heldByAnother(s.paths.Lock()); another != nil && s.kept.InPlace() {
			return another
		}
		if err := s.locked.renew(s.paths.Lock(), s.paths.Socket); err != nil {
			return err
		}
		if err := s.locked.name(s.paths.Socket, s.serving); err != nil {
			return err
		}
	}
	if !lost {
		return nil
	}
	return s.registry.Rewrite(func(all registry.Change) (registry.Store, error) {
		made, err := s.kept.Remake(all)
		if err != nil {
			return nil, err
		}
		s.kept = made
		return made, nil
	})
}

// errYielded says that another daemon has had the lock, and the database with it.
var errYielded = errors.New("the lock file was deleted and another daemon took it: this one ends, and the next one has its tasks")

// yield leaves the database to another daemon that has, or had, the lock: it has
// written there what this one does not know, and to write beside it would spoil both.
func (s *state) yield(another *BusyError) error {
	s.yielded = fmt.Errorf("%w: %w", errYielded, another)
	_ = s.registry.Rewrite(func(registry.Change) (registry.Store, error) {
		return nil, errors.Join(s.yielded, s.kept.Close())
	})
	return s.yielded
}

// guardState mends as soon as it is told that a file was deleted. It ends with ctx, or
// with the daemon where another has taken its place.
func (d *daemon) guardState(ctx context.Context) {
	var told <-chan fsnotify.Event
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		told = watcher.Events
	}
	look := time.NewTicker(stateEvery)
	defer look.Stop()
	complaint := ""
	for {
		if watcher != nil { // again: the files may be new ones. Neither is written to often
			_ = watcher.Add(d.options.Paths.Lock())
			_ = watcher.Add(d.options.Paths.Database())
		}
		var again <-chan time.Time
		mended, err := d.state.mend(roughly)
		if mended { // whoever deletes may be at it still
			again = time.After(settleState)
		}
		if errors.Is(err, errYielded) {
			d.ask(end{err: err})
			return
		}
		if err != nil && err.Error() != complaint {
			d.log.Error("trying again", "error", err)
		}
		complaint = fmt.Sprint(err)
		select {
		case <-ctx.Done():
			return
		case <-told:
		case <-look.C:
		case <-again:
		}
	}
}
