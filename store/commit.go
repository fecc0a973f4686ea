package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"sidetask/registry"
)

// statements are prepared once; all run on the one connection.
type statements struct {
	begin, commit, rollback             *sql.Stmt
	putTask, moveCursors, dropTask      *sql.Stmt
	putOwner, dropOwner                 *sql.Stmt
	log, keepSeq, trim, counter, number *sql.Stmt
	all                                 []*sql.Stmt
}

func (s *statements) prepare(ctx context.Context, conn *sql.Conn) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		// BEGIN IMMEDIATE as a statement of its own: database/sql's BeginTx costs a
		// goroutine and its context handling for each commit.
		{&s.begin, `BEGIN IMMEDIATE`},
		{&s.commit, `COMMIT`},
		{&s.rollback, `ROLLBACK`},
		{&s.putTask, `INSERT OR REPLACE INTO tasks VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`},
		{&s.moveCursors, `UPDATE tasks SET cursor = ?, op_cursor = ? WHERE row = ?`},
		{&s.dropTask, `DELETE FROM tasks WHERE row = ?`},
		{&s.putOwner, `INSERT OR REPLACE INTO owners VALUES (?,?,?,?,?,?,?,?,?,?)`},
		{&s.dropOwner, `DELETE FROM owners WHERE handle = ?`},
		{&s.log, `INSERT INTO log VALUES (?,?,?,?,?,?,?,?)`},
		{&s.keepSeq, `INSERT OR REPLACE INTO numbers SELECT '` + numberSeq + `', max(seq) FROM log HAVING max(seq) NOT NULL`},
		{&s.trim, `DELETE FROM log WHERE seq < ?`},
		{&s.counter, `INSERT OR REPLACE INTO counters VALUES (?,?)`},
		{&s.number, `INSERT OR REPLACE INTO numbers VALUES (?,?)`},
	} {
		stmt, err := conn.PrepareContext(ctx, p.text)
		if err != nil {
			return err
		}
		*p.to = stmt
		s.all = append(s.all, stmt)
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// Names of single numbers.
const (
	numberSeq   = "seq"
	numberRow   = "nextRow"
	numberOwner = "nextOwner"
)

// Commit writes one transition, all of it or nothing.
func (s *Store) Commit(c registry.Change) error {
	if _, err := s.stmt.begin.Exec(); err != nil {
		return explain(s.path, err)
	}
	err := s.write(c)
	if err == nil {
		_, err = s.stmt.commit.Exec()
	}
	if err != nil {
		// After a full disk SQLite has rolled back itself; then this one fails.
		_, _ = s.stmt.rollback.Exec()
		return explain(s.path, err)
	}
	return nil
}

func (s *Store) write(c registry.Change) error {
	w := writer{}
	for _, row := range c.DropTasks {
		w.exec(s.stmt.dropTask, int64(row))
	}
	for i := range c.Tasks {
		w.exec(s.stmt.putTask, taskColumns(&c.Tasks[i])...)
	}
	for _, at := range c.Cursors {
		w.exec(s.stmt.moveCursors, at.Cursor, at.OpCursor, int64(at.Row))
	}
	for _, h := range c.DropOwners {
		w.exec(s.stmt.dropOwner, string(h))
	}
	for i := range c.Owners {
		w.owner(s.stmt.putOwner, &c.Owners[i])
	}
	for i := range c.Log {
		w.exec(s.stmt.log, logColumns(&c.Log[i])...)
	}
	if c.TrimLog > 0 {
		w.exec(s.stmt.keepSeq) // the log may be empty after this, and its last number must not come again
		w.exec(s.stmt.trim, c.TrimLog)
	}
	for kind, n := range c.Counters {
		w.exec(s.stmt.counter, kind, n)
	}
	if c.NextRow > 0 {
		w.exec(s.stmt.number, numberRow, int64(c.NextRow))
	}
	if c.NextOwner > 0 {
		w.exec(s.stmt.number, numberOwner, c.NextOwner)
	}
	return w.err
}

// writer runs statements until the first that fails.
type writer struct{ err error }

func (w *writer) exec(stmt *sql.Stmt, args ...any) {
	if w.err == nil {
		_, w.err = stmt.Exec(args...)
	}
}

func (w *writer) owner(stmt *sql.Stmt, o *registry.OwnerRecord) {
	tokens := make([]byte, 0, 32*len(o.Tokens))
	for _, hash := range o.Tokens {
		tokens = append(tokens, hash[:]...)
	}
	wakes, err := json.Marshal(o.Wakes)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.exec(stmt, string(o.Handle), o.Agent, o.Session, string(o.Scope), o.Title, o.Cwd, tokens, o.Spent, string(wakes), o.LostAt)
}

// taskColumns are the columns of the table tasks, in its order.
func taskColumns(t *registry.Record) []any {
	return []any{
		int64(t.Row), t.ID, t.Kind, t.Label, t.OutputLimit, string(t.Owner), string(t.Scope), t.Producer,
		t.Stream, string(t.Status), t.Detail, t.StartedAt, t.FinishedAt, t.Reported, t.ExitCode, t.Signal,
		t.Starting, t.Registered, t.Ended, t.Cursor, t.OpCursor, string(t.Notice), t.Lease, t.Key, t.Cause, t.TimedOut,
	}
}

func logColumns(e *registry.LogEntry) []any {
	columns := []any{e.Seq, int64(e.Row), string(e.Status), e.Detail, e.FinishedAt, nil, nil, nil}
	if e.Removed != nil {
		columns[5], columns[6], columns[7] = e.Removed.ID, string(e.Removed.Owner), string(e.Removed.Scope)
	}
	return columns
}
