package registry

import (
	"slices"
	"time"
)

// Retention bounds what is kept of finished tasks; zero fields bound nothing.
type Retention struct {
	Age   time.Duration // older ones go
	Tasks int64
	Bytes int64 // of Facts.Disk
	// Lost protects notices and owners whose host has been away for less than
	// this (retention.days).
	Lost time.Duration
}

// pruneBatch bounds the records that go in one commit.
const pruneBatch = 256

// Prune removes finished tasks, oldest first, until the bounds hold, and then
// owners without host and task that are long gone. It never removes what
// lives, has leftovers, is being read, or has a notice for an owner with a
// host or one lost for less than keep.Lost (CONFIG.md, retention).
func (r *Registry) Prune(keep Retention) (removed int, freed int64, err error) {
	old, facts := r.finishedFacts()
	tasks, bytes := int64(len(old)), int64(0)
	for _, f := range facts {
		bytes += f.Disk
	}
	for len(old) > 0 {
		var batch []*record
		r.mu.Lock()
		now := r.now()
		for len(old) > 0 && len(batch) < pruneBatch {
			rec, f := old[0], facts[0]
			old, facts = old[1:], facts[1:]
			over := keep.Tasks > 0 && tasks > keep.Tasks || keep.Bytes > 0 && bytes > keep.Bytes ||
				keep.Age > 0 && now.Sub(rec.over) > keep.Age
			if !over || f.Leftovers > 0 || r.protectedLocked(rec, keep.Lost) {
				continue
			}
			tasks--
			bytes -= f.Disk
			batch = append(batch, rec)
		}
		err = r.dropLocked(batch)
		r.unlock()
		if err != nil {
			return removed, freed, err
		}
		removed += len(batch)
		freed += r.remove(batch)
	}
	return removed, freed, r.pruneOwners(keep.Lost)
}

// finishedFacts are the finished tasks, oldest end first, with what their
// producers say of them.
func (r *Registry) finishedFacts() ([]*record, []Facts) {
	r.mu.Lock()
	var finished []map[Row]*record
	for _, o := range r.owners {
		finished = append(finished, o.finished)
	}
	old := byEnd(finished...)
	tasks := snapshotsLocked(old)
	r.mu.Unlock()
	return old, r.FactsOf(tasks)
}

// protectedLocked reports whether a finished task must stay whatever its age.
func (r *Registry) protectedLocked(rec *record, lost time.Duration) bool {
	if rec.gone || rec.claims > 0 || rec.readers != [2]chan struct{}{} || rec.owner.disposed != nil {
		return true
	}
	notice := rec.dueLocked() || rec.Notice == Leased && !rec.Reported
	return notice && (rec.owner.host != nil || !r.longGoneLocked(rec.owner, lost))
}

func (r *Registry) longGoneLocked(o *owner, lost time.Duration) bool {
	return o.host == nil && r.now().Sub(o.goneAt) > lost
}

// dropLocked drops finished records in one commit.
func (r *Registry) dropLocked(batch []*record) error {
	if len(batch) == 0 {
		return nil
	}
	t := r.transitionLocked()
	var owners []*owner
	for _, rec := range batch {
		t.drop(rec)
		if !slices.Contains(owners, rec.owner) {
			owners = append(owners, rec.owner)
		}
	}
	if err := t.commit(); err != nil {
		return err
	}
	for _, o := range owners {
		r.announceLocked(o)
	}
	return nil
}

// pruneOwners forgets owners without host and task that are long gone.
func (r *Registry) pruneOwners(lost time.Duration) error {
	r.mu.Lock()
	defer r.unlock()
	t := r.transitionLocked()
	for _, o := range r.agentsLocked() {
		empty := len(o.starting)+len(o.live)+len(o.finished) == 0
		if lost > 0 && empty && o.disposed == nil && r.longGoneLocked(o, lost) {
			t.change.DropOwners = append(t.change.DropOwners, o.Handle)
			t.then(func() { r.removeOwnerLocked(o) })
		}
	}
	if len(t.apply) == 0 {
		return nil
	}
	return t.commit()
}
