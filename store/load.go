package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"sidetask/registry"
	"sidetask/scope"
)

// Load gives everything that was committed.
func (s *Store) Load() (*registry.State, error) {
	state := &registry.State{Counters: make(map[string]int64)}
	numbers := make(map[string]int64)
	for _, part := range []struct {
		query string
		scan  func(*sql.Rows) error
	}{
		{`SELECT kind, n FROM counters`, scanNumber(state.Counters)},
		{`SELECT name, n FROM numbers`, scanNumber(numbers)},
		{`SELECT * FROM owners`, func(rows *sql.Rows) error { return scanOwner(rows, state) }},
		{`SELECT * FROM tasks`, func(rows *sql.Rows) error { return scanTask(rows, state) }},
		{`SELECT * FROM log ORDER BY seq`, func(rows *sql.Rows) error { return scanLog(rows, state) }},
	} {
		if err := s.each(part.query, part.scan); err != nil {
			return nil, explain(s.path, err)
		}
	}
	state.Seq = numbers[numberSeq]
	if n := len(state.Log); n > 0 {
		state.Seq = max(state.Seq, state.Log[n-1].Seq)
	}
	state.NextRow = registry.Row(numbers[numberRow])
	state.NextOwner = numbers[numberOwner]
	return state, nil
}

func (s *Store) each(query string, scan func(*sql.Rows) error) error {
	rows, err := s.conn.QueryContext(context.Background(), query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func scanNumber(to map[string]int64) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var name string
		var n int64
		err := rows.Scan(&name, &n)
		to[name] = n
		return err
	}
}

func scanOwner(rows *sql.Rows, state *registry.State) error {
	var o registry.OwnerRecord
	var tokens []byte
	var wakes string
	if err := rows.Scan(&o.Handle, &o.Agent, &o.Session, &o.Scope, &o.Title, &o.Cwd, &tokens, &o.Spent, &wakes, &o.LostAt); err != nil {
		return err
	}
	if len(tokens)%32 != 0 {
		return fmt.Errorf("%w: owner %s has %d bytes of token hashes", ErrCorrupt, o.Handle, len(tokens))
	}
	for ; len(tokens) > 0; tokens = tokens[32:] {
		o.Tokens = append(o.Tokens, [32]byte(tokens))
	}
	if err := json.Unmarshal([]byte(wakes), &o.Wakes); err != nil {
		return fmt.Errorf("%w: wakes of owner %s: %w", ErrCorrupt, o.Handle, err)
	}
	state.Owners = append(state.Owners, o)
	return nil
}

func scanTask(rows *sql.Rows, state *registry.State) error {
	var t registry.Record
	err := rows.Scan(
		&t.Row, &t.ID, &t.Kind, &t.Label, &t.OutputLimit, &t.Owner, &t.Scope, &t.Producer,
		&t.Stream, &t.Status, &t.Detail, &t.StartedAt, &t.FinishedAt, &t.Reported, &t.ExitCode, &t.Signal,
		&t.Starting, &t.Registered, &t.Ended, &t.Cursor, &t.OpCursor, &t.Notice, &t.Lease, &t.Key, &t.Cause, &t.TimedOut)
	state.Tasks = append(state.Tasks, t)
	return err
}

func scanLog(rows *sql.Rows, state *registry.State) error {
	var e registry.LogEntry
	var id, owner, at sql.NullString
	if err := rows.Scan(&e.Seq, &e.Row, &e.Status, &e.Detail, &e.FinishedAt, &id, &owner, &at); err != nil {
		return err
	}
	if id.Valid {
		e.Removed = &registry.Removed{ID: id.String, Owner: registry.Handle(owner.String), Scope: scope.Path(at.String)}
	}
	state.Log = append(state.Log, e)
	return nil
}
