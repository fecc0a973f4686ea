package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidetask/registry"
)

// TestRemake: whichever of its files was taken away, and whatever is left beside it,
// a store is made anew with what it is given, and only in its own place.
func TestRemake(t *testing.T) {
	for _, gone := range [][]string{{""}, {"-wal"}, {"", "-wal", "-shm"}, {"emptied", ""}, {"emptied", "-wal"}, {"emptied", "", "-wal"}} {
		path := filepath.Join(t.TempDir(), "db")
		s := open(t, path)
		if err := s.Commit(registry.Change{Counters: map[string]int64{"old": 1}, NextRow: 2}); err != nil {
			t.Fatal(err)
		}
		if s.Gone() {
			t.Fatal("what is there is gone")
		}
		remove := os.Remove
		if gone[0] == "emptied" {
			remove = func(path string) error { return os.Truncate(path, 0) }
		}
		for _, suffix := range gone {
			if suffix == "emptied" {
				continue
			}
			if err := remove(path + suffix); err != nil {
				t.Fatal(err)
			}
		}
		if !s.Gone() {
			t.Errorf("without %q it is there", gone)
		}
		made, err := s.Remake(registry.Change{Counters: map[string]int64{"new": 7}, NextRow: 9})
		if err != nil {
			t.Fatal(err)
		}
		if err := made.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, path)
		state, err := again.Load()
		if err != nil || len(state.Counters) != 1 || state.Counters["new"] != 7 || state.NextRow != 9 {
			t.Errorf("without %q: %+v, %v", gone, state, err)
		}
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("another's"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := again.Remake(registry.Change{}); err == nil || !strings.Contains(err.Error(), "another task database stands at "+path) {
			t.Errorf("in the place of another: %v", err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if made, err = again.Remake(registry.Change{}); err != nil {
			t.Fatal(err)
		}
		if err := made.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
