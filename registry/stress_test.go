package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// consistent checks that every index says what the records say, and that
// nothing is left of waits, receipts and starts.
func (w *world) consistent() {
	w.t.Helper()
	r := w.Registry
	r.mu.Lock()
	defer r.mu.Unlock()
	sets := map[string][]string{}
	add := func(set string, rec *record) { sets[set] = append(sets[set], fmt.Sprint(rec.row)) }
	want := map[string]int{}
	for _, rec := range r.rows {
		h := string(rec.Owner)
		switch {
		case rec.Starting:
			want["starting "+h]++
		case rec.Status.Terminal():
			want["finished "+h]++
		default:
			want["live "+h]++
		}
		if rec.dueLocked() {
			want[string(rec.Notice)+" "+h]++
		}
		if rec.Notice == Leased {
			want["leased "+h]++
		}
		if rec.ID != "" && r.ids[rec.ID] != rec {
			w.t.Errorf("%s is filed wrongly", rec.ID)
		}
		if rec.owner != r.owners[rec.Owner] || rec.claims != 0 || rec.byUser != 0 || len(rec.waiters) != 0 || rec.readers != [2]chan struct{}{} {
			w.t.Errorf("%s: owner %v, %d claims, %d kills, %d waiters, readers %v", rec.ID, rec.owner == r.owners[rec.Owner], rec.claims, rec.byUser, len(rec.waiters), rec.readers)
		}
		kept, ok := w.store.tasks[rec.row]
		if diff := cmp.Diff(kept, rec.Record); !ok || diff != "" {
			w.t.Errorf("%s differs from what is stored: %s", rec.ID, diff)
		}
	}
	for h, o := range r.owners {
		if hostless := o.inboxLocked() && o.host == nil; hostless != (r.lost[h] == o) {
			w.t.Errorf("%s: host %v, lost %v", h, o.host, r.lost[h] != nil)
		}
		for name, set := range map[string]map[Row]*record{"starting ": o.starting, "live ": o.live, "finished ": o.finished, "waiting ": o.waiting, "parked ": o.parked, "leased ": o.leased} {
			for _, rec := range set {
				add(name+string(h), rec)
			}
		}
		if len(o.waits) != 0 {
			w.t.Errorf("%s: %d waits left", h, len(o.waits))
		}
	}
	if len(r.lost)+len(r.pending)+len(r.late) == 0 && r.timer != nil {
		w.t.Error("a timer is left that waits for nothing")
	}
	got := map[string]int{}
	for name, rows := range sets {
		got[name] = len(rows)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("indexes (-records +indexes): %s", diff)
	}
	if len(r.rows) != len(w.store.tasks) || len(r.pending)+len(r.late) != 0 || len(r.orphans) != 0 || len(r.queue) != 0 {
		w.t.Errorf("%d rows, %d stored; %d pending, %d orphans, %d queued", len(r.rows), len(w.store.tasks), len(r.pending), len(r.orphans), len(r.queue))
	}
}

// TestConcurrent pins the table's T40, T43 and T66: the same rules under true
// concurrency. Everybody does everything at once; afterwards nothing is lost,
// double or left.
func TestConcurrent(t *testing.T) {
	w := newWorld(t)
	w.limit = 1000
	var mu sync.Mutex
	done, unreported := map[string]int{}, map[string]bool{}
	w.OnDone("/", func(t Task) { mu.Lock(); defer mu.Unlock(); done[t.ID]++; unreported[t.ID] = !t.Reported })
	w.fake.onCancel = func(row Row) error {
		switch rand.IntN(3) {
		case 0:
			return errors.New("cannot")
		case 1:
			w.Settle(row, Outcome{Status: Killed})
		}
		return nil
	}
	handles := []Handle{w.owner("a"), w.owner("b"), w.owner("c")}
	sub := w.subscribe(AsOperator(), "/", -1)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 300 {
				w.something(handles[rand.IntN(len(handles))])
			}
		})
	}
	wg.Wait()
	for _, task := range w.List(AsOperator(), false) {
		w.end(task)
	}
	w.awaitQueue()
	w.consistent()
	mu.Lock()
	defer mu.Unlock()
	seen := map[string]int{}
	for _, task := range w.List(AsOperator(), true) {
		seen[task.ID]++
		if done[task.ID] != 1 || seen[task.ID] != 1 {
			t.Errorf("%s: listed %d times, %d rounds", task.ID, seen[task.ID], done[task.ID])
		}
		rec := w.rows[task.Row]
		if waits := rec.dueLocked() || rec.Notice == Leased || rec.Notice == Acked; !waits && !rec.Reported {
			t.Errorf("%s: the notice is lost: %+v", task.ID, rec.Record)
		}
	}
	if len(seen) != len(done) || int(w.counters["bash"]) != len(seen) {
		t.Errorf("%d tasks, %d rounds, counter %d", len(seen), len(done), w.counters["bash"])
	}
	last := sub.Seq
	for last < w.seq {
		e, err := sub.Next(t.Context())
		if err != nil || e.Seq != last+1 {
			t.Fatalf("event %d after %d: %v", e.Seq, last, err)
		}
		last = e.Seq
	}
	w.restart()
	w.consistent()
}

// something makes one random call as an owner or the operator.
func (w *world) something(h Handle) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(2000))*time.Microsecond)
	defer cancel()
	c := AsOwner(h)
	if rand.IntN(4) == 0 {
		c = AsOperator()
	}
	id := fmt.Sprintf("bash-%d", 1+rand.IntN(200))
	finish := func(r *Receipt) {
		if rand.IntN(3) == 0 {
			r.Failed()
		} else {
			r.Delivered()
		}
	}
	switch rand.IntN(9) {
	case 0, 1:
		early := rand.IntN(2) == 0
		_, _ = w.Start(context.Background(), AsOwner(h), spec(), func(row Row) error {
			if early {
				go w.Settle(row, Outcome{Status: Completed})
			}
			return nil
		})
	case 2:
		if task, err := w.Get(AsOperator(), id); err == nil {
			w.end(task)
		}
	case 3:
		_, _, _ = w.Kill(ctx, c, id, nil)
	case 4:
		_, _, receipt, _ := w.Read(ctx, c, id, nil, false)
		finish(receipt)
	case 5:
		_, receipt, _ := w.Wait(ctx, c, id, 0.5)
		finish(receipt)
	case 6:
		claim, _ := w.Claim(h, ClaimTurnEnd, true, ClaimRules{Served: true}, w.host)
		switch rand.IntN(3) {
		case 0:
			_ = w.Ack(h, claim.Lease)
		case 1:
			_ = w.Release(h, claim.Lease, rand.IntN(2) == 0)
		}
	case 7:
		w.AbortWaits(h)
		_, _ = w.AwaitInbox(ctx, h)
	case 8:
		w.List(c, rand.IntN(2) == 0)
		w.Owners()
		w.Inbox(h)
	}
}

// TestConcurrentOwners lets hosts come, go, bind and dispose beside starts and
// ends.
func TestConcurrentOwners(t *testing.T) {
	w := newWorld(t)
	w.limit = 1000
	w.fake.onCancel = func(row Row) error { w.Settle(row, Outcome{Status: Killed}); return nil }
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			host := &fakeHost{}
			for n := range 60 {
				token := tok(fmt.Sprintf("t-%d-%d", i, n))
				h, err := w.Register(Registration{Token: token, Agent: "a"}, host)
				if err != nil {
					t.Error(err)
					return
				}
				task, err := w.Start(t.Context(), AsOwner(h), spec(), func(Row) error { return nil })
				if err == nil && n%2 == 0 {
					w.end(task)
				}
				session := fmt.Sprint(rand.IntN(3))
				bound, err := w.Bind(t.Context(), Binding{Token: token, Session: session, Takeover: true, Fresh: n%5 == 0}, host)
				if err == nil && n%7 == 0 {
					_, _ = w.Dispose(t.Context(), bound, "")
				}
				if n%3 == 0 {
					w.HostGone(host)
				}
			}
			w.HostGone(host)
		})
	}
	wg.Wait()
	w.awaitQueue()
	w.consistent()
	for _, o := range w.Owners() {
		if _, err := w.Dispose(t.Context(), o.Handle, ""); err != nil {
			t.Error(err)
		}
	}
	w.consistent()
	if len(w.rows) != 0 || len(w.store.owners) != 0 || len(w.tokens) != 0 || len(w.names) != 0 || len(w.lenders) != 0 {
		t.Errorf("left: %d rows, %d owners, %d tokens, %d names", len(w.rows), len(w.store.owners), len(w.tokens), len(w.names))
	}
}
