package spool

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Both ways of hearing of changes: inotify, and looking where it is not to be had.
func watchers(t *testing.T) map[string]*Watcher {
	told := NewWatcher()
	if told.Polling() {
		t.Fatal("no inotify here")
	}
	polls := NewPoller()
	if !polls.Polling() {
		t.Fatal("a watcher without inotify does not say that it polls")
	}
	return map[string]*Watcher{"inotify": told, "polling": polls}
}

// TestWatch: growth, a new segment and a file that comes by a rename are told; a
// watch that is armed after a look misses nothing.
func TestWatch(t *testing.T) {
	for name, w := range watchers(t) {
		t.Run(name, func(t *testing.T) {
			defer w.Close()
			dir := filepath.Join(t.TempDir(), "s")
			spool, err := NewWriter(dir, Limits{Bytes: 64})
			if err != nil {
				t.Fatal(err)
			}
			defer spool.Close()
			first, second := w.Watch(dir), w.Watch(dir)
			defer second.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for range 5 {
				if _, err := spool.Write([]byte("xyz")); err != nil {
					t.Fatal(err)
				}
				for _, watch := range []*Watch{first, second} {
					if err := watch.Wait(ctx); err != nil {
						t.Fatalf("growth was not told: %v", err)
					}
				}
				drain(first, second)
			}
			first.Close()
			elsewhere := filepath.Join(filepath.Dir(dir), "x")
			if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			drain(second)
			if err := os.Rename(elsewhere, filepath.Join(dir, "x")); err != nil {
				t.Fatal(err)
			}
			if err := second.Wait(ctx); err != nil {
				t.Fatalf("a rename was not told: %v", err)
			}
		})
	}
}

// drain takes what one write tells besides the first event (a new segment and
// its first bytes are two).
func drain(watches ...*Watch) {
	for _, watch := range watches {
		for told := true; told; {
			select {
			case <-watch.C:
			case <-time.After(2 * pollEvery):
				told = false
			}
			if watch.w.Polling() {
				told = false // it tells without end
			}
		}
	}
}

// TestNobodyWatches: without a watch nothing is armed, and nothing runs.
func TestNobodyWatches(t *testing.T) {
	for name, w := range watchers(t) {
		t.Run(name, func(t *testing.T) {
			defer w.Close()
			dir := t.TempDir()
			watch := w.Watch(dir)
			again := w.Watch(dir)
			watch.Close()
			if len(w.watches) != 1 {
				t.Error("the second watch ended with the first")
			}
			again.Close()
			again.Close() // twice is once
			if len(w.watches) != 0 || w.polling != nil {
				t.Errorf("%d folders are watched, poll goroutine: %v, want none", len(w.watches), w.polling != nil)
			}
			if armed := w.armed(); armed != 0 {
				t.Errorf("%d inotify watches are armed, want none", armed)
			}
		})
	}
}

// TestOneFolderPolled: a folder of which inotify does not tell is polled, and it
// alone, and no longer than somebody watches it.
func TestOneFolderPolled(t *testing.T) {
	w := NewWatcher()
	defer w.Close()
	told := w.Watch(t.TempDir())
	defer told.Close()
	missing := w.Watch(filepath.Join(t.TempDir(), "not there"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := missing.Wait(ctx); err != nil {
		t.Fatalf("the folder is not polled: %v", err)
	}
	select {
	case <-told.C:
		t.Error("a folder that inotify tells of is polled, too")
	default:
	}
	missing.Close()
	if w.polling != nil {
		t.Error("polling goes on though nobody needs it")
	}
}

// TestWaitEnds: a wait ends with its context, and a watch of a closed watcher
// tells nothing.
func TestWaitEnds(t *testing.T) {
	w := NewWatcher()
	watch := w.Watch(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := watch.Wait(ctx); err != context.Canceled {
		t.Errorf("Wait = %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	watch.Close()
	w.Watch(t.TempDir()).Close()
}

// TestFolderGone: a watched folder that is deleted is told of, and its watch can
// be closed.
func TestFolderGone(t *testing.T) {
	w := NewWatcher()
	defer w.Close()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	watch := w.Watch(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := watch.Wait(ctx); err != nil {
		t.Error(err)
	}
	watch.Close()
	// A folder that is not there is polled: it may come.
	never := w.Watch(dir)
	never.Close()
}

// TestFolderComesBack: what comes into a folder that was deleted or moved away, and
// made anew, is told of, and it is not polled for longer than it is missing.
func TestFolderComesBack(t *testing.T) {
	for name, away := range map[string]func(dir string) error{
		"deleted": os.Remove,
		"moved":   func(dir string) error { return os.Rename(dir, dir+".old") },
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWatcher()
			defer w.Close()
			dir := filepath.Join(t.TempDir(), "d")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			watch := w.Watch(dir)
			defer watch.Close()
			if err := away(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := watch.Wait(ctx); err != nil {
				t.Fatalf("that it was taken away is not told: %v", err)
			}
			for polled := true; polled; {
				w.mu.Lock()
				polled = w.polling != nil
				w.mu.Unlock()
				drain(watch)
			}
			if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := watch.Wait(ctx); err != nil {
				t.Errorf("a file in the new folder is not told of: %v", err)
			}
		})
	}
}
