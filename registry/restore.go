package registry

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sidetask/scope"
)

// restoreLocked fills the registry with what the store had.
func (r *Registry) restoreLocked(state *State) {
	maps.Copy(r.counters, state.Counters)
	r.nextRow, r.nextOwner, r.seq = max(state.NextRow, 1), max(state.NextOwner, 1), state.Seq
	r.changes.restore(state.Log, state.Seq)
	r.addOwnerLocked(&owner{OwnerRecord: OwnerRecord{Handle: Nobody, Scope: scope.Root}})
	r.addOwnerLocked(&owner{OwnerRecord: OwnerRecord{Handle: OperatorHandle, Scope: scope.Root}})
	t := r.transitionLocked()
	for _, kept := range state.Owners {
		o := &owner{OwnerRecord: kept, awayAt: r.now()}
		if o.LostAt == 0 { // the last daemon ended while it had a host
			o.LostAt = r.millis()
			t.putOwner(o, o.OwnerRecord)
		}
		// The grace goes on from where the host was lost; the wall clock is all that
		// is left of that time. Hosts that start with the daemon get a minute anyway.
		o.goneAt = r.agoLocked(o.LostAt)
		o.lostAt = o.awayAt.Add(-max(0, min(o.awayAt.Sub(o.goneAt), r.grace().Owner-leaseGrace)))
		r.addOwnerLocked(o)
		r.lost[o.Handle] = o
	}
	for _, kept := range state.Tasks {
		o := r.owners[kept.Owner]
		if o == nil {
			// Cannot be: an owner goes with its records in one commit. Nobody would
			// be wrong (everybody could read it), so it is the operator's.
			r.log.Error("a task has an owner that is not there; the operator has it now", "task", kept.ID, "owner", kept.Owner)
			o = r.owners[OperatorHandle]
			kept.Owner = OperatorHandle
		}
		rec := &record{row: kept.Row, Record: kept, owner: o}
		if kept.Status.Terminal() {
			rec.over = r.agoLocked(kept.FinishedAt)
		}
		r.rows[rec.row] = rec
		r.indexLocked(rec)
	}
	if len(t.apply) == 0 {
		return
	}
	if err := t.commit(); err != nil {
		r.log.Error("when hosts were lost could not be recorded; their grace may begin anew with the next daemon", "error", err)
	}
}

// agoLocked is an instant that the wall clock told an earlier daemon, on the clock of
// this one; now, where it has not come yet.
func (r *Registry) agoLocked(millis int64) time.Time {
	now := r.now()
	return now.Add(-time.Duration(max(0, now.UnixMilli()-millis)) * time.Millisecond)
}

// indexLocked files a record that is new, or whose state has changed, where
// it is looked for. Everything here follows from the record alone.
func (r *Registry) indexLocked(rec *record) {
	o := rec.owner
	switch {
	case rec.Starting:
		if _, ok := o.starting[rec.row]; !ok {
			o.starting[rec.row] = rec
			r.starting++
		}
	case !rec.Status.Terminal():
		r.unstartLocked(rec)
		r.ids[rec.ID] = rec
		r.live[rec.row] = rec
		o.live[rec.row] = rec
	default:
		r.unstartLocked(rec)
		r.ids[rec.ID] = rec
		delete(r.live, rec.row)
		delete(o.live, rec.row)
		signal(&rec.ended)
		if rec.over.IsZero() {
			rec.over = r.now()
		}
		if _, ok := o.finished[rec.row]; !ok {
			o.finished[rec.row] = rec
			r.finished++
		}
	}
	if rec.Key != "" {
		o.keys[rec.Key] = rec
	}
	r.indexNoticeLocked(rec)
}

func (r *Registry) unstartLocked(rec *record) {
	if _, ok := rec.owner.starting[rec.row]; ok {
		delete(rec.owner.starting, rec.row)
		r.starting--
	}
}

// indexNoticeLocked files a record by its notice, and wakes who waits for one.
func (r *Registry) indexNoticeLocked(rec *record) {
	o := rec.owner
	if rec.Notice == Leased {
		o.leased[rec.row] = rec
	} else {
		delete(o.leased, rec.row)
	}
	before := o.dueLocked()
	delete(o.waiting, rec.row)
	delete(o.parked, rec.row)
	switch {
	case rec.gone || !rec.dueLocked():
	case rec.Notice == Waiting:
		o.waiting[rec.row] = rec
	default:
		o.parked[rec.row] = rec
	}
	if o.dueLocked() > before {
		o.wakeLocked()
	}
}

// forgetLocked takes a record out of everything and wakes who waits on it.
func (r *Registry) forgetLocked(rec *record) {
	rec.gone = true
	signal(&rec.ended)
	r.unindexLocked(rec)
	delete(r.rows, rec.row)
	delete(r.pending, rec.row)
	delete(r.late, rec.row)
	if rec.ID != "" {
		delete(r.ids, rec.ID)
		r.changes.bury(rec.snapshotLocked())
	}
	for i, free := range rec.readers {
		if free != nil {
			close(free)
			rec.readers[i] = nil
		}
	}
}

// unindexLocked takes a record away from its owner.
func (r *Registry) unindexLocked(rec *record) {
	o := rec.owner
	r.unstartLocked(rec)
	delete(r.live, rec.row)
	delete(o.live, rec.row)
	if _, ok := o.finished[rec.row]; ok {
		delete(o.finished, rec.row)
		r.finished--
	}
	delete(o.waiting, rec.row)
	delete(o.parked, rec.row)
	delete(o.leased, rec.row)
	if rec.Key != "" && o.keys[rec.Key] == rec {
		delete(o.keys, rec.Key)
	}
}

// ordered lists records by the order of their registration (T24).
func ordered(sets ...map[Row]*record) []*record {
	var all []*record
	for _, set := range sets {
		all = slices.AppendSeq(all, maps.Values(set))
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.Registered, b.Registered) })
	return all
}

// byEnd lists records by the order of their ends.
func byEnd(sets ...map[Row]*record) []*record {
	var all []*record
	for _, set := range sets {
		all = slices.AppendSeq(all, maps.Values(set))
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.Ended, b.Ended) })
	return all
}
