package registry

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestRewrite: another store gets all that the one before had. While none can be
// had nothing changes, and what must be recorded is tried again.
func TestRewrite(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	ended, live, own := w.start(AsOwner(h)), w.start(AsOwner(h)), w.start(AsOperator())
	w.Settle(ended.Row, Outcome{Status: Completed})
	w.claim(h, ClaimWake)

	full := errors.New("no room")
	if err := w.Rewrite(func(Change) (Store, error) { return nil, full }); !errors.Is(err, full) || !errors.Is(w.Trouble(), full) {
		t.Errorf("got %v, trouble %v", err, w.Trouble())
	}
	if _, err := w.Start(t.Context(), AsOwner(h), spec(), func(Row) error { return nil }); !errors.Is(err, full) {
		t.Errorf("a start without a store: %v", err)
	}
	w.Settle(own.Row, Outcome{Status: Completed})

	before, another := w.store, newMemory()
	if err := w.Rewrite(func(all Change) (Store, error) { return another, another.Commit(all) }); err != nil || w.Trouble() != nil {
		t.Fatalf("got %v, trouble %v", err, w.Trouble())
	}
	sorted := func(m *memory) *State {
		state, err := m.Load()
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(state.Tasks, func(a, b Record) int { return cmp.Compare(a.Row, b.Row) })
		return state
	}
	if d := diff.Diff(sorted(before), sorted(another), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("what was kept and what is (+):\n%s", d)
	}
	w.store = another
	w.Settle(live.Row, Outcome{Status: Completed})
	if task, _, err := w.Wait(t.Context(), AsOperator(), own.ID, 1e6); err != nil || task.Status != Completed {
		t.Errorf("an end that no store took: %+v, %v", task, err)
	}
	w.restart()
	for _, task := range w.List(AsOperator(), true) {
		if !task.Status.Terminal() {
			t.Errorf("lost: the end of %s", task.ID)
		}
	}
}
