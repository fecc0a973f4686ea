package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// migrations bring the schema from each version to the next. Those that were
// released never change; the version of a file is the number of rows in the
// table migrations.
var migrations = []string{
	`
	CREATE TABLE counters (kind TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE numbers (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
	CREATE TABLE owners (
		handle TEXT PRIMARY KEY, agent TEXT NOT NULL, session TEXT NOT NULL, scope TEXT NOT NULL,
		title TEXT NOT NULL, cwd TEXT NOT NULL, tokens BLOB NOT NULL, spent INTEGER NOT NULL,
		wakes TEXT NOT NULL, lost_at INTEGER NOT NULL
	) WITHOUT ROWID;
	CREATE TABLE tasks (
		row INTEGER PRIMARY KEY, id TEXT NOT NULL, kind TEXT NOT NULL, label TEXT NOT NULL,
		output_limit INTEGER NOT NULL, owner TEXT NOT NULL, scope TEXT NOT NULL, producer TEXT NOT NULL,
		stream INTEGER NOT NULL, status TEXT NOT NULL, detail TEXT, started_at INTEGER NOT NULL,
		finished_at INTEGER NOT NULL, reported INTEGER NOT NULL, exit_code INTEGER, signal TEXT NOT NULL,
		starting INTEGER NOT NULL, registered INTEGER NOT NULL, ended INTEGER NOT NULL,
		cursor INTEGER NOT NULL, op_cursor INTEGER NOT NULL, notice TEXT NOT NULL, lease TEXT NOT NULL,
		key TEXT NOT NULL, cause TEXT NOT NULL
	);
	CREATE TABLE log (
		seq INTEGER PRIMARY KEY, row INTEGER NOT NULL, status TEXT NOT NULL, detail TEXT,
		finished_at INTEGER NOT NULL, removed_id TEXT, removed_owner TEXT, removed_scope TEXT
	);
	`,
	`
	ALTER TABLE tasks ADD COLUMN timed_out INTEGER NOT NULL DEFAULT 0;
	UPDATE tasks SET timed_out = 1 WHERE producer = 'command' AND detail LIKE 'timed out after %';
	`,
}

// migrate brings the schema up to date, in one transaction.
func migrate(ctx context.Context, conn *sql.Conn) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, at INTEGER NOT NULL)`); err != nil {
		return err
	}
	from, err := version(ctx, tx)
	if err != nil {
		return err
	}
	for i := from; i < len(migrations); i++ {
		if _, err := tx.ExecContext(ctx, migrations[i]); err != nil {
			return fmt.Errorf("schema %d: %w", i+1, err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO migrations VALUES (?, ?)`, i+1, time.Now().UnixMilli()); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// version is that of the schema of a file; one that is newer than ours is [ErrNewer].
func version(ctx context.Context, tx *sql.Tx) (n int, err error) {
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM migrations`).Scan(&n); err != nil {
		return 0, err
	}
	if n > len(migrations) {
		return 0, fmt.Errorf("%w (schema %d, this one knows %d): upgrade sidetask, or move the file away to start with an empty one", ErrNewer, n, len(migrations))
	}
	return n, nil
}
