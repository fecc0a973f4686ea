package registry

// Store keeps records over restarts and power cuts. The registry calls it with
// its lock held, one call at a time.
type Store interface {
	// Load gives everything that was committed.
	Load() (*State, error)
	// Commit writes one transition, all of it or nothing.
	Commit(Change) error
	// Close flushes and closes.
	Close() error
}
