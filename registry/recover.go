package registry

import (
	"cmp"
	"slices"
)

// Recovered is a row that had not ended when the last daemon did.
type Recovered struct {
	Task     Task
	Starting bool   // no id: Adopt or Drop it
	Cause    string // why it was being cancelled, where not by its owner (whom Status tells of)
}

// Unsettled gives the live and `starting` rows of a producer, oldest first,
// for its recovery at start-up: each must be adopted, settled or dropped.
func (r *Registry) Unsettled(producer string) []Recovered {
	r.mu.Lock()
	defer r.mu.Unlock()
	var left []Recovered
	for _, o := range r.owners {
		for _, set := range []map[Row]*record{o.starting, o.live} {
			for _, rec := range set {
				if rec.Producer == producer {
					left = append(left, Recovered{Task: rec.snapshotLocked(), Starting: rec.Starting, Cause: rec.Cause})
				}
			}
		}
	}
	sortByRow(left)
	return left
}

// Rows gives all rows that the registry knows of a producer: what lies on disk
// for another row is nobody's.
func (r *Registry) Rows(producer string) map[Row]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := make(map[Row]bool)
	for row, rec := range r.rows {
		if rec.Producer == producer {
			known[row] = true
		}
	}
	return known
}

// Seen says that a row was given once, because something of it lies on disk.
// After a power cut the store may have lost its last commits: rows and the ids
// of every kind then go on behind what may have been given, so that no id names
// two tasks (T21). Called by producers before the first start.
func (r *Registry) Seen(row Row) error {
	r.mu.Lock()
	defer r.unlock()
	lost := int64(row - r.nextRow + 1)
	if lost <= 0 {
		return nil
	}
	t := r.transitionLocked()
	t.change.NextRow = row + 1
	t.change.Counters = map[string]int64{anyKind: r.counters[anyKind] + lost}
	for kind, n := range r.counters {
		t.change.Counters[kind] = n + lost
	}
	return t.commit()
}

// Adopt gives a `starting` row of the last daemon whose work lives (or has
// ended: Settle it then) its id.
func (r *Registry) Adopt(row Row) (Task, error) {
	rec, err := r.left(row)
	if err != nil {
		return Task{}, err
	}
	return r.register(rec)
}

// Drop forgets a `starting` row of the last daemon whose work never began.
func (r *Registry) Drop(row Row) error {
	rec, err := r.left(row)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.unlock()
	r.dropStartLocked(rec)
	return nil
}

// left is a `starting` row that no start of this process works on.
func (r *Registry) left(row Row) (*record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.rows[row]
	if rec == nil || !rec.Starting || rec.started != nil {
		return nil, Errorf(KindInvalid, "row %d is not one that an earlier daemon left starting", row)
	}
	return rec, nil
}

func sortByRow(rows []Recovered) {
	slices.SortFunc(rows, func(a, b Recovered) int { return cmp.Compare(a.Task.Row, b.Task.Row) })
}
