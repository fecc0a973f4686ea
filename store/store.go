package store

import (
	"errors"

	"sidetask/registry"
)

// Store is a registry.Store in an SQLite file.
type Store struct{}

var _ registry.Store = (*Store)(nil)

var errProvisional = errors.New("not built yet")

// Open opens or makes the file (mode 0600) and brings its schema up to date.
func Open(path string) (*Store, error) { return nil, errProvisional }

// Load gives everything that was committed.
func (s *Store) Load() (*registry.State, error) { return nil, errProvisional }

// Commit writes one transition.
func (s *Store) Commit(registry.Change) error { return errProvisional }

// Close flushes and closes.
func (s *Store) Close() error { return errProvisional }
