package registry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPrune: finished tasks go oldest first by age, count and bytes, and what
// was kept of them with them; ids are not used again (T21).
func TestPrune(t *testing.T) {
	for _, k := range []struct {
		name string
		keep Retention
		left []string
	}{
		{"nothing bounded", Retention{}, []string{"bash-1", "bash-2", "bash-3", "bash-4"}},
		{"tasks", Retention{Tasks: 2}, []string{"bash-3", "bash-4"}},
		{"bytes", Retention{Bytes: 25}, []string{"bash-3", "bash-4"}},
		{"age", Retention{Age: 150 * time.Minute}, []string{"bash-3", "bash-4"}},
		{"age, just not", Retention{Age: 4 * time.Hour}, []string{"bash-1", "bash-2", "bash-3", "bash-4"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			c := AsOwner(w.owner("s"))
			for range 4 {
				task := w.start(c)
				w.fake.write(task.Row, "0123456789")
				w.end(task)
				w.read(c, task.ID)
				time.Sleep(time.Hour)
			}
			removed, freed, err := w.Prune(k.keep)
			left := ids(w.List(c, true))
			if diff := cmp.Diff(k.left, left); diff != "" || err != nil {
				t.Errorf("%s: %s, %v", k.name, diff, err)
			}
			if gone := 4 - len(left); removed != gone || freed != int64(10*gone) || len(w.store.tasks) != len(left) {
				t.Errorf("%s: removed %d, freed %d, %d stored", k.name, removed, freed, len(w.store.tasks))
			}
			if got := w.start(c).ID; got != "bash-5" {
				t.Errorf("%s: the next id is %s", k.name, got)
			}
		})
	}
}

// TestPruneProtects: what lives, has leftovers, is being read, or has a notice
// that somebody may still come for stays (CONFIG.md, retention).
func TestPruneProtects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h, gone := w.owner("s"), w.register(Registration{Token: tok("g"), Session: "gone"}, &fakeHost{})
		c := AsOwner(h)
		w.start(c) // lives
		due, leased, leftovers, reading, plain := w.start(c), w.start(c), w.start(c), w.start(c), w.start(c)
		lost := w.start(AsOwner(gone))
		w.end(leased)
		lease := w.claim(h, ClaimTurnEnd).Lease
		for _, task := range []Task{due, leftovers, reading, plain, lost} {
			w.end(task)
		}
		w.fake.of(leftovers.Row).leftovers = 1
		w.read(c, leftovers.ID)
		w.read(c, plain.ID)
		_, _, receipt, err := w.Read(t.Context(), c, reading.ID, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := w.Owner(gone)
		w.HostGone(o.Host)
		time.Sleep(2 * time.Hour)
		all := Retention{Age: time.Millisecond, Tasks: 1, Bytes: 1, Lost: 24 * time.Hour}
		if n, _, err := w.Prune(all); n != 1 || err != nil {
			t.Errorf("removed %d, %v", n, err)
		}
		if _, err := w.Get(AsOperator(), plain.ID); !errors.Is(err, ErrUnknownTask) {
			t.Errorf("the one that nothing protects: %v", err)
		}
		receipt.Delivered()
		if err := w.Ack(h, lease); err != nil {
			t.Fatal(err)
		}
		_, _, _ = w.Kill(t.Context(), c, leftovers.ID, nil)
		if n, _, err := w.Prune(all); n != 3 || err != nil {
			t.Errorf("when they are told: removed %d, %v", n, err)
		}
		time.Sleep(24 * time.Hour)
		if n, _, err := w.Prune(all); n != 1 || err != nil {
			t.Errorf("the long lost owner's: removed %d, %v", n, err)
		}
		if _, there := w.Owner(gone); there {
			t.Error("a long gone owner without tasks is still there")
		}
		if diff := cmp.Diff([]string{"bash-1", "bash-2"}, ids(w.List(AsOperator(), true))); diff != "" {
			t.Error(diff)
		}
		if len(w.store.owners) != 1 || len(w.store.tasks) != 2 {
			t.Errorf("stored: %d owners, %d tasks", len(w.store.owners), len(w.store.tasks))
		}
	})
}
