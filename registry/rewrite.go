package registry

import "maps"

// Rewrite goes on with another store, into which write puts all that is kept; it
// closes the one before, of which somebody took the files away. Where it fails nothing
// can be recorded, as on a full disk, until this is called again.
func (r *Registry) Rewrite(write func(all Change) (Store, error)) error {
	r.mu.Lock()
	defer r.unlock()
	if r.phase == closed {
		return ErrShuttingDown
	}
	made, err := write(r.allLocked())
	if err != nil {
		r.store, r.trouble = refusing{err}, err
		return err
	}
	r.store, r.trouble, r.failures, r.orphans = made, nil, 0, nil
	return nil
}

// allLocked is everything that is kept, as one change of nothing.
func (r *Registry) allLocked() Change {
	all := Change{
		Log: r.changes.entries, Counters: maps.Clone(r.counters), NextRow: r.nextRow, NextOwner: r.nextOwner,
	}
	for _, rec := range r.rows {
		if !rec.gone {
			all.Tasks = append(all.Tasks, rec.Record)
		}
	}
	for _, o := range r.agentsLocked() {
		all.Owners = append(all.Owners, o.OwnerRecord)
	}
	return all
}

// refusing stands for a store that could not be made.
type refusing struct{ why error }

func (s refusing) Load() (*State, error) { return nil, s.why }
func (s refusing) Commit(Change) error   { return s.why }
func (refusing) Close() error            { return nil }
