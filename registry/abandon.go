package registry

// keepStartLocked keeps a start whose owner is disposed findable until it is
// over, and its work has ended.
func (r *Registry) keepStartLocked(rec *record) {
	if rec.Starting && rec.started != nil {
		r.rows[rec.row] = rec
	}
}

// abandon ends work that could not be recorded: it keeps its slot until it has
// ended, and is forgotten then.
func (r *Registry) abandon(rec *record, why error) {
	r.mu.Lock()
	rec.failing = true
	ended := rec.held != nil
	p := r.producerLocked(rec.Producer)
	if ended {
		r.abandonedLocked(rec)
	}
	r.unlock()
	if ended {
		return
	}
	reason := "the task could not be recorded"
	if err := p.Cancel(r.life, rec.row, &reason); err != nil {
		r.log.Error("work that could not be recorded could not be cancelled and may be orphaned", "row", rec.row, "why", why, "error", err)
		r.mu.Lock()
		defer r.unlock()
		r.dropStartLocked(rec)
	}
}

// abandonedLocked forgets work that could not be recorded and has ended, and
// has its producer delete what it kept of it. The producer may be in the middle
// of telling of the end, so it is asked from a goroutine; Close waits for that.
func (r *Registry) abandonedLocked(rec *record) {
	r.dropStartLocked(rec)
	if r.phase == closed { // the next daemon finds it, and settles it
		return
	}
	p, task := r.producerLocked(rec.Producer), rec.snapshotLocked()
	r.wg.Go(func() {
		r.endLeftoversOf(task)
		r.removeKept(p, rec.row)
	})
}
