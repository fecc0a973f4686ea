package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sidetask/registry"
	"sidetask/scripts/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func load(t testing.TB, s *Store) *registry.State {
	t.Helper()
	state, err := s.Load()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func commit(t testing.TB, s *Store, c registry.Change) {
	t.Helper()
	if err := s.Commit(c); err != nil {
		t.Fatal(err)
	}
}

// whole gives a value to every field, so that one that is not kept shows.
func whole() registry.Change {
	detail, code := "exit code: 3", 3
	task := registry.Record{
		Task: registry.Task{
			Row: 7, ID: "bash-4", Kind: "bash", Label: "make \x00\n\u00fc", OutputLimit: 64, Owner: "o-2", Scope: "/a/b",
			Producer: "command", Stream: true, Status: registry.Completed, Detail: &detail, StartedAt: 11, FinishedAt: 12,
			Reported: true, ExitCode: &code, Signal: "SIGTERM", TimedOut: true,
		},
		Starting: true, Registered: 2, Ended: 3, Cursor: 1 << 40, OpCursor: 9, Notice: registry.Leased, Lease: "l-1", Key: "k", Cause: "owner lost",
	}
	plain := registry.Record{Task: registry.Task{Row: 8, Kind: "bash", Label: "x", Status: registry.Running, Scope: "/"}}
	return registry.Change{
		Tasks: []registry.Record{task, plain},
		Owners: []registry.OwnerRecord{
			{
				Handle: "o-2", Agent: "claude", Session: "s", Scope: "/a/b", Title: "t", Cwd: "/x", Tokens: [][32]byte{{1}, {2}},
				Spent: 2, Wakes: []registry.Wake{{At: 5, Tasks: []string{"bash-4"}}}, LostAt: 99,
			},
			{Handle: "o-3", Scope: "/"},
		},
		Log: []registry.LogEntry{
			{Seq: 1, Row: 7, Status: registry.Running},
			{Seq: 2, Row: 7, Status: registry.Completed, Detail: &detail, FinishedAt: 12},
			{Seq: 3, Row: 5, Removed: &registry.Removed{ID: "bash-1", Owner: "o-2", Scope: "/a/b"}},
		},
		Counters: map[string]int64{"bash": 4, "pty-send": 1},
		NextRow:  9, NextOwner: 4,
	}
}

func wantState(t *testing.T, got *registry.State, c registry.Change, seq int64) {
	t.Helper()
	want := &registry.State{Tasks: c.Tasks, Owners: c.Owners, Log: c.Log, Counters: c.Counters, Seq: seq, NextRow: c.NextRow, NextOwner: c.NextOwner}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// TestRoundTrip: every field comes back, also after the file was closed, and
// also after a crash (the file of a store that was never closed).
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidetask.db")
	s := open(t, path)
	wantState(t, load(t, s), registry.Change{}, 0)
	c := whole()
	commit(t, s, c)
	wantState(t, load(t, s), c, 3)

	crashed := filepath.Join(t.TempDir(), "sidetask.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(crashed+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantState(t, load(t, open(t, crashed)), c, 3)

	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a closed store leaves a WAL: %v", err)
	}
	s = open(t, path)
	wantState(t, load(t, s), c, 3)

	commit(t, s, registry.Change{DropTasks: []registry.Row{7}, DropOwners: []registry.Handle{"o-2"}, TrimLog: 3})
	c.Tasks, c.Owners, c.Log = c.Tasks[1:], c.Owners[1:], c.Log[2:]
	wantState(t, load(t, s), c, 3)
	commit(t, s, registry.Change{TrimLog: 4})
	c.Log = nil
	wantState(t, load(t, s), c, 3) // the number goes on though the log is empty
}

// TestFirstSchema: a file of the first schema is brought up to date; which tasks had
// timed out stood in the detail then, where an outside producer may say so, too.
func TestFirstSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidetask.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`CREATE TABLE migrations (version INTEGER PRIMARY KEY, at INTEGER NOT NULL)`,
		`INSERT INTO migrations VALUES (1, 0)`,
		migrations[0],
		`INSERT INTO tasks VALUES (1,'bash-1','bash','l',0,'','/','command',1,'killed','timed out after 50 ms',1,2,1,NULL,'SIGTERM',0,1,2,0,0,'','','','')`,
		`INSERT INTO tasks VALUES (2,'x-1','x','l',0,'','/','outside',1,'killed','timed out after 50 ms',1,2,1,NULL,'',0,1,2,0,0,'','','','')`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	state := load(t, open(t, path))
	if len(state.Tasks) != 2 {
		t.Fatalf("%d tasks, want 2", len(state.Tasks))
	}
	for _, task := range state.Tasks {
		if task.TimedOut != (task.ID == "bash-1") {
			t.Errorf("%s timed out: %t", task.ID, task.TimedOut)
		}
	}
}

// TestAllOrNothing: a change that fails half-way leaves nothing.
func TestAllOrNothing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "sidetask.db"))
	c := whole()
	commit(t, s, c)
	bad := registry.Change{
		DropTasks: []registry.Row{7},
		Log:       []registry.LogEntry{{Seq: 3, Row: 7}}, // the number is taken
	}
	if err := s.Commit(bad); err == nil {
		t.Fatal("a number was given twice")
	}
	wantState(t, load(t, s), c, 3)
	commit(t, s, registry.Change{NextRow: 10}) // and the next one works
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidetask.db")
	s := open(t, path)
	commit(t, s, whole())
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", suffix, mode)
		}
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "1", "busy_timeout": "5000"} {
		var got string
		if err := s.conn.QueryRowContext(context.Background(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", pragma, got, err, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	newer := filepath.Join(dir, "newer.db")
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", newer)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`INSERT INTO migrations VALUES (999, 0)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(dir, "garbage.db")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("this is no database\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want error
		says string
	}{
		{newer, ErrNewer, "upgrade sidetask"},
		{garbage, ErrCorrupt, "move it away"},
		{filepath.Join(dir, "none", "x.db"), fs.ErrNotExist, "none"},
		{dir, nil, dir},
	} {
		s, err := Open(c.path)
		if err == nil {
			_ = s.Close()
			t.Errorf("Open(%s) worked", c.path)
			continue
		}
		if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("Open(%s) = %v; want %v, the path and %q", c.path, err, c.want, c.says)
		}
	}
}

// TestFull: a full disk (here SQLite's own page limit, which is the same
// error) refuses the change, keeps what there was, and is over when there is
// room again.
func TestFull(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "sidetask.db"))
	c := whole()
	commit(t, s, c)
	limit := func(pages string) {
		t.Helper()
		var got int
		if err := s.conn.QueryRowContext(context.Background(), "PRAGMA max_page_count = "+pages).Scan(&got); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	big := registry.Change{Tasks: []registry.Record{{Task: registry.Task{Row: 20, Label: strings.Repeat("x", 1<<20)}}}}
	if err := s.Commit(big); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "make room") {
		t.Fatalf("Commit = %v, want ErrFull", err)
	}
	wantState(t, load(t, s), c, 3)
	limit("1000000")
	commit(t, s, big)
}

// BenchmarkCommit is a settlement: a task and its entry in the log.
func BenchmarkCommit(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "sidetask.db"))
	c := registry.Change{Tasks: whole().Tasks[:1], Log: whole().Log[1:2]}
	var seq int64
	for b.Loop() {
		seq++
		c.Log[0].Seq = seq
		if err := s.Commit(c); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCursorsAlone: of a task that was read a bit further only that is written,
// however much there is to its record, and nothing else of it changes.
func TestCursorsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sidetask.db")
	s := open(t, path)
	all := whole()
	all.Tasks[0].Label = strings.Repeat("x", 1<<20)
	commit(t, s, all)
	before := size(t, path+"-wal")
	commit(t, s, registry.Change{Cursors: []registry.Cursors{{Row: 7, Cursor: 1<<40 + 5, OpCursor: 10}}})
	if grew := size(t, path+"-wal") - before; grew > 1<<20/4 {
		t.Errorf("%d bytes were written to move a cursor", grew)
	}
	all.Tasks[0].Cursor, all.Tasks[0].OpCursor = 1<<40+5, 10
	wantState(t, load(t, s), all, 3)
}
