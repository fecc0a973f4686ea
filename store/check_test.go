package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"sidetask/registry"
)

// TestCheck: what Open refuses is refused beside a process that has the file open,
// newest changes and all, and nothing else is.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	if err := Check(path); err != nil {
		t.Errorf("none: %v", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); err != nil {
		t.Errorf("an empty one: %v", err)
	}
	s := open(t, path)
	commit(t, s, whole())
	if err := Check(path); err != nil || s.Damaged() || s.Gone() {
		t.Errorf("a good one: %v, damaged: %v, gone: %v", err, s.Damaged(), s.Gone())
	}
	if _, err := s.conn.ExecContext(t.Context(), `INSERT INTO migrations VALUES (?, 0)`, len(migrations)+1); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer one: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer one that nobody has open: %v", err)
	}
	if err := os.WriteFile(path, []byte("this is no database, whatever else it may be"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Check(path); !errors.Is(err, ErrCorrupt) {
		t.Errorf("no database: %v", err)
	}
}

// TestDamaged: a page that was overwritten shows, though the store has what was on it
// in its memory; and so does a file that was emptied and has changes again.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	s := open(t, path)
	commit(t, s, whole())
	if _, err := s.conn.ExecContext(t.Context(), "PRAGMA wal_checkpoint(RESTART)"); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	for i := 4096; i < len(bad); i++ {
		bad[i] = 0xff
	}
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	if s.Gone() || !s.Damaged() {
		t.Errorf("gone: %v, damaged: %v", s.Gone(), s.Damaged())
	}
	made, err := s.Remake(whole())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = made.Close() })
	if made.Damaged() {
		t.Error("what was made anew is damaged")
	}
	wantState(t, load(t, made), whole(), 3)

	commit(t, made, registry.Change{Counters: map[string]int64{"a": 1}})
	for i, file := range made.files() {
		if err := os.Truncate(file, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, 1<<20); err != nil {
			t.Fatal(err)
		}
		if !made.Gone() {
			t.Errorf("emptied and written to: file %d is there", i)
		}
		if made, err = made.Remake(whole()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = made.Close() })
		commit(t, made, registry.Change{Counters: map[string]int64{"a": 1}})
	}
}
