package spool

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// flood makes more events in a watched folder than the kernel keeps for a reader that
// does not read. Two events that are alike are one, so two files take turns.
func flood(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if most > 1<<18 {
		t.Skipf("fs.inotify.max_queued_events is %d", most)
	}
	var files [2]*os.File
	for i, name := range []string{"a", "b"} {
		if files[i], err = os.Create(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	for i := range most + most/4 { // the reader had some at once
		if _, err := files[i%2].WriteAt([]byte{1}, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOverflow: whoever watches a folder is told of what happened in it though the
// kernel dropped the event, and goes on to be where the folder was replaced meanwhile.
func TestOverflow(t *testing.T) {
	w := NewWatcher()
	defer w.Close()
	busy, quiet, replaced := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(replaced, 0o700); err != nil {
		t.Fatal(err)
	}
	var watches []*Watch
	for _, dir := range []string{busy, quiet, replaced} {
		watches = append(watches, w.Watch(dir))
		defer watches[len(watches)-1].Close()
	}
	w.mu.Lock() // who reads the events waits for it after the first
	flood(t, busy)
	err := os.WriteFile(filepath.Join(quiet, "x"), nil, 0o600)
	if err == nil {
		err = os.Rename(replaced, replaced+".old")
	}
	if err == nil {
		err = os.Mkdir(replaced, 0o700)
	}
	w.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, watch := range watches {
		if err := watch.Wait(ctx); err != nil {
			t.Errorf("a change in %s is not told: %v", watch.dir, err)
		}
	}
	drain(watches...)
	for _, watch := range watches {
		if err := os.WriteFile(filepath.Join(watch.dir, "later"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := watch.Wait(ctx); err != nil {
			t.Errorf("a later change in %s is not told: %v", watch.dir, err)
		}
	}
}
