package spool

import (
	"context"
	"sync"
)

// Watcher tells of changes in folders: that a spool grew, or that a file came.
// It costs a writer something only while somebody watches (an inotify watch on
// a file slows its writer), and nothing at all while nobody does. Where inotify
// is not to be had, it looks every [pollEvery] instead, while somebody watches.
// It is safe for concurrent use.
type Watcher struct {
	notify *notifier // nil: not to be had, poll

	mu      sync.Mutex
	watches map[string]map[*Watch]struct{} // by folder; guarded by mu
	polled  map[string]bool                // the folders of which inotify does not tell; guarded by mu
	polling chan struct{}                  // ends the poll goroutine; nil while polled is empty; guarded by mu
	closed  bool                           // guarded by mu
	done    sync.WaitGroup
}

// Watch is one watched folder. Something may have changed whenever C gives;
// many changes are one. Look first, then wait, then look again.
type Watch struct {
	C <-chan struct{}

	c   chan struct{}
	dir string
	w   *Watcher
}

// NewWatcher takes one inotify instance, or polls where it gets none.
func NewWatcher() *Watcher {
	w := NewPoller()
	if n, err := newNotifier(); err == nil {
		w.notify = n
		w.done.Go(func() { n.run(w.changed, w.gone, w.lost) })
	}
	return w
}

// NewPoller makes a watcher that does without inotify.
func NewPoller() *Watcher {
	return &Watcher{watches: make(map[string]map[*Watch]struct{}), polled: make(map[string]bool)}
}

// Polling reports whether inotify was not to be had.
func (w *Watcher) Polling() bool { return w.notify == nil }

// Watch begins to watch a folder, which must be there. The caller closes the
// watch. A folder whose inotify watch is refused (the limit per user) is polled, and
// so is one that was taken away, until it is there again.
func (w *Watcher) Watch(dir string) *Watch {
	c := make(chan struct{}, 1)
	watch := &Watch{C: c, c: c, dir: dir, w: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return watch
	}
	first := len(w.watches[dir]) == 0
	if first {
		w.watches[dir] = make(map[*Watch]struct{})
	}
	w.watches[dir][watch] = struct{}{}
	if first && (w.notify == nil || w.notify.add(dir) != nil) {
		w.pollLocked(dir)
	}
	return watch
}

// Close ends the watch.
func (watch *Watch) Close() {
	w := watch.w
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watches[watch.dir], watch)
	if len(w.watches[watch.dir]) > 0 {
		return
	}
	delete(w.watches, watch.dir)
	if w.notify != nil {
		w.notify.remove(watch.dir)
	}
	delete(w.polled, watch.dir)
	if len(w.polled) == 0 {
		w.stopPollingLocked()
	}
}

// Wait returns nil as soon as the folder may have changed, else the error of ctx.
func (watch *Watch) Wait(ctx context.Context) error {
	select {
	case <-watch.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// changed tells the watches of a folder.
func (w *Watcher) changed(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tell(w.watches[dir])
}

// gone looks for a folder that was deleted or moved away: another of that name may
// come, and be there already.
func (w *Watcher) gone(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewLocked(dir)
}

// lost is told that the kernel dropped events (more came than it keeps): any folder
// may have changed, or be another by now.
func (w *Watcher) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir := range w.watches {
		w.renewLocked(dir)
	}
}

// renewLocked watches what has the folder's name now, and tells its watches. w.mu
// must be held.
func (w *Watcher) renewLocked(dir string) {
	if len(w.watches[dir]) == 0 {
		return
	}
	w.notify.remove(dir)
	if !w.closed && w.notify.add(dir) != nil {
		w.pollLocked(dir)
	}
	tell(w.watches[dir])
}

// look tells those of whom inotify does not, and has it tell of them where it does now.
func (w *Watcher) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir := range w.polled {
		if w.notify != nil && w.notify.add(dir) == nil {
			delete(w.polled, dir)
		}
		tell(w.watches[dir])
	}
	if len(w.polled) == 0 {
		w.stopPollingLocked()
	}
}

func tell(watches map[*Watch]struct{}) {
	for watch := range watches {
		select {
		case watch.c <- struct{}{}:
		default: // told already
		}
	}
}

// pollLocked makes sure that the folder is looked at from time to time. w.mu
// must be held.
func (w *Watcher) pollLocked(dir string) {
	w.polled[dir] = true
	if w.polling != nil {
		return
	}
	stop := make(chan struct{})
	w.polling = stop
	w.done.Go(func() { poll(stop, w.look) })
}

func (w *Watcher) stopPollingLocked() {
	if w.polling != nil {
		close(w.polling)
		w.polling = nil
	}
}

// Close ends the watcher and all that it runs. Watches that are still open
// hear nothing more.
func (w *Watcher) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.stopPollingLocked()
	w.mu.Unlock()
	var err error
	if w.notify != nil {
		err = w.notify.close()
	}
	w.done.Wait()
	return err
}
