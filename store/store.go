package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite" // also registers the driver "sqlite"
	lib "modernc.org/sqlite/lib"

	"sidetask/registry"
)

// Store is a registry.Store in an SQLite file: one writer, one connection. Its
// methods are called one at a time.
type Store struct {
	path string
	db   *sql.DB
	conn *sql.Conn // the one connection, so that statements are prepared once
	stmt statements

	pin    *os.File       // the database, so that no other file gets its number
	opened [2]os.FileInfo // what files were when it was opened, as large as they were last
}

var _ registry.Store = (*Store)(nil)

// Errors that tell what is wrong with the file or its disk.
var (
	ErrFull    = errors.New("no space left on the disk")
	ErrNewer   = errors.New("written by a newer version of sidetask")
	ErrCorrupt = errors.New("not a sidetask database, or damaged")
	ErrBusy    = errors.New("in use by another process")
)

// Open opens or makes the file (mode 0600, in a folder that exists) and brings
// its schema up to date. A file of a newer schema is refused with [ErrNewer].
func Open(path string) (*Store, error) {
	// Made here first, so that there is no moment in which others may read it:
	// SQLite gives its WAL and index files the mode of the database.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the task database: %w", err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Close()); err != nil {
		return nil, fmt.Errorf("opening the task database: %w", err)
	}
	db, err := sql.Open("sqlite", dsn(path, options))
	if err != nil {
		return nil, explain(path, err)
	}
	s := &Store{path: path, db: db}
	if err := s.begin(); err != nil {
		_ = s.Close()
		return nil, explain(path, err)
	}
	if err := s.note(); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// options are how the file is opened (ARCHITECTURE, decision 5).
var options = url.Values{"_pragma": {
	"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(ON)", "temp_store(MEMORY)",
}}

// dsn names the file and how it is opened.
func dsn(path string, how url.Values) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: how.Encode()}).String()
}

func (s *Store) begin() error {
	ctx := context.Background()
	s.db.SetMaxOpenConns(1)
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	s.conn = conn
	if err := migrate(ctx, conn); err != nil {
		return err
	}
	return s.stmt.prepare(ctx, conn)
}

// Close flushes and closes.
func (s *Store) Close() error {
	err := s.release()
	if s.pin != nil {
		err = errors.Join(err, s.pin.Close()) // now: with a file's first descriptor all of SQLite's locks on it go
	}
	return err
}

func (s *Store) release() error {
	err := s.stmt.close()
	if s.conn != nil {
		// The WAL goes into the file, which then is all there is.
		_, _ = s.conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
		err = errors.Join(err, s.conn.Close())
	}
	if err = errors.Join(err, s.db.Close()); err != nil {
		return explain(s.path, err)
	}
	return nil
}

// explain says what is wrong, where, and what to do.
func explain(path string, err error) error {
	if errors.Is(err, ErrNewer) {
		return fmt.Errorf("the task database %s: %w", path, err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("the task database %s: %w", path, err)
	}
	kind, advice := error(nil), ""
	switch e.Code() & 0xff { // the primary code
	case lib.SQLITE_FULL:
		kind, advice = ErrFull, "make room; nothing was changed"
	case lib.SQLITE_IOERR:
		if full(path) {
			kind, advice = ErrFull, "make room; nothing was changed"
		}
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		kind, advice = ErrCorrupt, "move it away to start with an empty one"
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		kind, advice = ErrBusy, "another sidetask daemon uses this state folder"
	}
	if kind == nil {
		return fmt.Errorf("the task database %s: %w", path, err)
	}
	return fmt.Errorf("the task database %s: %w (%s): %w", path, kind, advice, err)
}
