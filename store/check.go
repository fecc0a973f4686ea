package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// Check says why [Open] would refuse the file, without changing it; another process may
// have it open. A file that is not there is no reason.
func Check(path string) (err error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := sql.Open("sqlite", dsn(path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)"}}))
	if err != nil {
		return explain(path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if err := inspect(context.Background(), db); err != nil {
		return explain(path, err)
	}
	return nil
}

// inspect looks at the pages, and at the version of the schema.
func inspect(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var found string
	if err := tx.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("%w (%s): move it away to start with an empty one", ErrCorrupt, found)
	}
	var tables int // none in an empty file
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_master WHERE name = 'migrations'`).Scan(&tables); err != nil || tables == 0 {
		return err
	}
	_, err = version(ctx, tx)
	return err
}
