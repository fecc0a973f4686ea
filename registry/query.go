package registry

import (
	"context"
	"strconv"
)

// findLocked looks a task up: unknown before foreign (T27, T28).
func (r *Registry) findLocked(c Caller, id string) (*record, error) {
	rec := r.ids[id]
	if rec == nil {
		return nil, unknownTask(id)
	}
	if !r.seesLocked(c, rec.Owner) {
		return nil, Errorf(KindForeignTask, "task %s belongs to another session", id)
	}
	return rec, nil
}

// seesLocked reports whether the caller may see the tasks of an owner: an owner its
// own and the unowned (T24, T29), the operator all.
func (r *Registry) seesLocked(c Caller, h Handle) bool {
	own, agent := c.Owner()
	if !agent || h == Nobody || own == h {
		return true
	}
	o, err := r.ownerLocked(own)
	return err == nil && o.Handle == h
}

// Get is a snapshot; it changes nothing (T26).
func (r *Registry) Get(c Caller, id string) (Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec, err := r.findLocked(c, id)
	if err != nil {
		return Task{}, err
	}
	return rec.snapshotLocked(), nil
}

// ByRow is the task of a row, which is what a command knows itself by: at its
// start there is no id yet. While the start is under way it waits.
func (r *Registry) ByRow(ctx context.Context, c Caller, row Row) (Task, error) {
	r.mu.Lock()
	defer r.unlock()
	for {
		rec := r.rows[row]
		if rec == nil || rec.Starting && rec.started == nil {
			return Task{}, unknownTask(strconv.FormatInt(int64(row), 10))
		}
		if !rec.Starting {
			rec, err := r.findLocked(c, rec.ID)
			if err != nil {
				return Task{}, err
			}
			return rec.snapshotLocked(), nil
		}
		if err := r.awaitStartLocked(ctx, rec); err != nil {
			return Task{}, err
		}
	}
}

// List gives the live tasks, with all also the finished ones, in the order of
// their registration. An owner sees its own and the unowned (T24), the
// operator all.
func (r *Registry) List(c Caller, all bool) []Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	var sets []map[Row]*record
	if h, agent := c.Owner(); !agent {
		sets = append(sets, r.live)
		if all {
			for _, o := range r.owners {
				sets = append(sets, o.finished)
			}
		}
	} else {
		nobody := r.owners[Nobody]
		sets = append(sets, nobody.live)
		if all {
			sets = append(sets, nobody.finished)
		}
		if o, err := r.ownerLocked(h); err == nil && o != nobody {
			sets = append(sets, o.live)
			if all {
				sets = append(sets, o.finished)
			}
		}
	}
	return snapshotsLocked(ordered(sets...))
}

func snapshotsLocked(records []*record) []Task {
	tasks := make([]Task, len(records))
	for i, rec := range records {
		tasks[i] = rec.snapshotLocked()
	}
	return tasks
}

// Facts asks the task's producer what it knows now.
func (r *Registry) Facts(t Task) Facts { return r.FactsOf([]Task{t})[0] }

// FactsOf asks the producers what they know now of each of the tasks: each
// producer once, so that a list costs no more waiting than one task.
func (r *Registry) FactsOf(tasks []Task) []Facts {
	rows, at := make(map[string][]Row), make(map[string][]int)
	for i, t := range tasks {
		rows[t.Producer], at[t.Producer] = append(rows[t.Producer], t.Row), append(at[t.Producer], i)
	}
	all := make([]Facts, len(tasks))
	for name, rows := range rows {
		for i, facts := range r.producer(name).Facts(rows...) {
			all[at[name][i]] = facts
		}
	}
	return all
}

// Trouble says why the newest commit failed, nil where it did not: with a full
// disk starts are refused, and ends and kills wait to be recorded.
func (r *Registry) Trouble() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble
}

// Counts counts tasks by what they do, and the registered owners.
type Counts struct {
	Starting, Running, Stopping, Finished int
	Owners                                int
}

// Counts says how many there are now.
func (r *Registry) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := Counts{Starting: r.starting, Finished: r.finished, Owners: len(r.owners) - 2}
	for _, rec := range r.live {
		if rec.Status == Stopping {
			c.Stopping++
		} else {
			c.Running++
		}
	}
	return c
}
