package registry

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecovery: rows that an earlier daemon left starting are adopted or
// dropped, live ones settled; ids go on (T21).
func TestRecovery(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	live := w.start(c)
	left := Record{Task: Task{Row: 50, Kind: "bash", Label: "left", Owner: live.Owner, Scope: "/", Producer: "fake", Status: Running, StartedAt: 1}, Starting: true}
	gone := left
	gone.Row = 51
	w.close()
	w.store.tasks[50], w.store.tasks[51], w.store.state.NextRow = left, gone, 52
	w.open()
	var rows []Row
	for _, rec := range w.Unsettled("fake") {
		rows = append(rows, rec.Task.Row)
		if rec.Starting != (rec.Task.Row >= 50) {
			t.Errorf("row %d: starting %v", rec.Task.Row, rec.Starting)
		}
	}
	if diff := cmp.Diff([]Row{live.Row, 50, 51}, rows); diff != "" {
		t.Error(diff)
	}
	w.Settle(50, Outcome{Status: Completed})
	task, err := w.Adopt(50)
	if err != nil || task.ID != "bash-2" || w.get("bash-2").Status != Completed {
		t.Errorf("Adopt = %+v, %v; want bash-2 and its end committed", task, err)
	}
	if err := w.Drop(51); err != nil || w.rows[51] != nil {
		t.Errorf("Drop = %v", err)
	}
	if err := w.Drop(51); !errors.Is(err, ErrInvalid) {
		t.Errorf("a second Drop = %v", err)
	}
}

// TestPowerCut: a store that lost its last commits is told of the rows that
// were given, and gives neither them nor their ids again (T21).
func TestPowerCut(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	w.start(c)
	before := w.store.state.NextRow
	for range 3 {
		w.start(c)
	}
	w.close()
	for row := before; row < before+3; row++ {
		delete(w.store.tasks, row)
	}
	w.store.state.NextRow, w.store.state.Counters["bash"] = before, 1
	w.store.state.Seq, w.store.state.Log = 1, w.store.state.Log[:1]
	w.open()
	if err := errors.Join(w.Seen(before+2), w.Seen(before), w.Seen(1)); err != nil {
		t.Fatal(err)
	}
	w.owner("s")
	other := spec()
	other.Kind = "new"
	unknown, err := w.Start(t.Context(), c, other, func(Row) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	task := w.start(c)
	if task.ID != "bash-5" || unknown.ID != "new-4" || unknown.Row != before+3 {
		t.Errorf("got %s (row %d) and %s; an id may have been given before", unknown.ID, unknown.Row, task.ID)
	}
}
