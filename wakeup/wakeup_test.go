package wakeup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
	"sidetask/scripts/leaks"
	"sidetask/store"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// mounts are settings by scope; absent and disabled ones serve nobody.
type mounts struct {
	mu    sync.Mutex
	table map[scope.Path]config.Mount
}

func (m *mounts) Mount(at scope.Path) (config.Mount, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range at.Chain() {
		if mount, ok := m.table[p]; ok {
			return mount, mount.Enabled
		}
	}
	return config.Mount{}, false
}

func (m *mounts) set(at scope.Path, delivery string, wakes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.table[at] = config.Mount{Scope: at, Enabled: delivery != "", CompletionDelivery: delivery, MaxConsecutiveWakes: wakes}
}

// host writes down every bell.
type host struct {
	mu    sync.Mutex
	bells []string
}

func (h *host) Pending(owner registry.Handle, count int, lane string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bells = append(h.bells, fmt.Sprintf("%s %d %s", owner, count, lane))
}

func (h *host) Lost(registry.Handle) {}

func (h *host) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	bells := h.bells
	h.bells = nil
	return bells
}

// idle is a producer whose work does nothing.
type idle struct{}

func (idle) Cancel(context.Context, registry.Row, *string) error { return nil }

func (idle) Read(registry.Row, registry.ReadRequest) (registry.Reading, error) {
	return registry.Reading{}, nil
}

func (idle) Tail(context.Context, registry.Row, registry.TailRequest) (registry.Tailed, error) {
	return registry.Tailed{}, nil
}

func (idle) Match(ctx context.Context, _ registry.Row, _ int64, _ *regexp.Regexp) error {
	<-ctx.Done()
	return ctx.Err()
}

func (idle) Write(context.Context, registry.Row, registry.WriteRequest) (int, error) { return 0, nil }

func (idle) EndLeftovers(registry.Row) (int, error) { return 0, nil }

func (idle) Facts(rows ...registry.Row) []registry.Facts { return make([]registry.Facts, len(rows)) }

func (idle) Remove(registry.Row) (int64, error) { return 0, nil }

type world struct {
	t      *testing.T
	r      *registry.Registry
	w      *Wakeup
	mounts *mounts
	host   *host
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "sidetask.db"))
	if err != nil {
		t.Fatal(err)
	}
	m := &mounts{table: map[scope.Path]config.Mount{}}
	m.set("/", config.Wakeup, 3)
	r, err := registry.Open(registry.Options{
		Store: s, Limit: func() int64 { return 100 },
		Serves: func(at scope.Path) bool { _, ok := m.Mount(at); return ok },
		Grace:  func() registry.Grace { return registry.Grace{Owner: time.Hour, Stop: time.Second} },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.AddProducer("idle", idle{})
	w := &world{t: t, r: r, w: New(r, m), mounts: m, host: &host{}}
	t.Cleanup(func() {
		w.w.Close()
		r.Shutdown(context.Background(), false)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) owner(session string, at scope.Path) registry.Handle {
	w.t.Helper()
	h, err := w.r.Register(registry.Registration{Token: "token-of-session-" + session, Agent: "agent", Session: session, Scope: at}, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// ended starts and ends a task.
func (w *world) ended(h registry.Handle) registry.Task {
	w.t.Helper()
	task, err := w.r.Start(w.t.Context(), registry.AsOwner(h), registry.Spec{Kind: "bash", Label: "x", Producer: "idle"}, func(registry.Row) error { return nil })
	if err != nil {
		w.t.Fatal(err)
	}
	w.r.Settle(task.Row, registry.Outcome{Status: registry.Completed})
	return task
}

func (w *world) claim(h registry.Handle, reason string) registry.Claim {
	w.t.Helper()
	c, err := w.w.Claim(h, reason, true, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) bells(want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.host.heard()); diff != "" {
		w.t.Error(diff)
	}
}

// TestLane pins T162: idle, wakeup and budget left give the lane "wake",
// anything else "inject".
func TestLane(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s", "/")
	w.ended(h)
	w.bells("o-1 1 wake")
	busy := registry.Busy
	if err := w.r.Update(h, registry.OwnerChange{Status: &busy}); err != nil {
		t.Fatal(err)
	}
	w.ended(h)
	w.bells("o-1 2 inject")
	idle := registry.Idle
	if err := w.r.Update(h, registry.OwnerChange{Status: &idle}); err != nil {
		t.Fatal(err)
	}
	w.mounts.set("/", config.Quiet, 3)
	w.w.Reconsider()
	w.bells("o-1 2 inject")
	if c := w.claim(h, registry.ClaimWake); c.Refused != registry.RefusedQuiet {
		t.Errorf("a wake under quiet: %+v", c)
	}
	if c := w.claim(h, registry.ClaimTurnEnd); len(c.Tasks) != 2 {
		t.Errorf("a turn end under quiet: %+v", c)
	}
}

// TestNearestMount pins T93 and decision 7: of many mounts the nearest decides,
// and one end is one bell.
func TestNearestMount(t *testing.T) {
	w := newWorld(t)
	w.mounts.set("/review", config.Quiet, 1)
	w.mounts.set("/review/strict", config.Wakeup, 1)
	w.ended(w.owner("a", "/review/strict/deep"))
	w.ended(w.owner("b", "/review/other"))
	w.ended(w.owner("c", "/reviewer"))
	w.bells("o-1 1 wake", "o-2 1 inject", "o-3 1 wake")
}

// TestBudget pins T163, T164 and T166: claims spend, several ends are one, the
// user restores, injections cost nothing; a lower cap counts at once.
func TestBudget(t *testing.T) {
	w := newWorld(t)
	w.mounts.set("/", config.Wakeup, 2)
	h := w.owner("s", "/")
	w.ended(h)
	w.ended(h)
	if c := w.claim(h, registry.ClaimWake); len(c.Tasks) != 2 || w.w.Budget(h) != 1 {
		t.Errorf("first wake: %+v, %d left", c, w.w.Budget(h))
	}
	w.ended(h)
	if c := w.claim(h, registry.ClaimTurnEnd); len(c.Tasks) != 1 || w.w.Budget(h) != 1 {
		t.Errorf("turn end: %+v, %d left", c, w.w.Budget(h))
	}
	w.ended(h)
	w.mounts.set("/", config.Wakeup, 1)
	if c := w.claim(h, registry.ClaimWake); c.Refused != registry.RefusedBudget || w.w.Budget(h) != 0 {
		t.Errorf("a lower cap: %+v, %d left", c, w.w.Budget(h))
	}
	w.host.heard()
	w.w.Reconsider()
	w.bells("o-1 1 inject")
	w.mounts.set("/", config.Wakeup, 2)
	if c := w.claim(h, registry.ClaimWake); len(c.Tasks) != 1 {
		t.Errorf("second wake: %+v", c)
	}
	if _, err := w.w.Claim(h, registry.ClaimUser, false, w.host); err != nil || w.w.Budget(h) != 2 {
		t.Errorf("user: %v, %d left", err, w.w.Budget(h))
	}
	o, _ := w.r.Owner(h)
	var woken []string
	for _, wake := range o.Wakes {
		woken = append(woken, wake.Tasks...)
	}
	if !slices.Equal(woken, []string{"bash-1", "bash-2", "bash-4"}) {
		t.Errorf("wakes: %v", woken)
	}
}

// TestUnserved pins T18 and T89: notices of an owner whose nearest table is
// disabled wait until one serves it, its tasks stay and can be read, and it
// starts none meanwhile (CONFIG.md, what a reload does).
func TestUnserved(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s", "/plain")
	task := w.ended(h)
	w.bells("o-1 1 wake")
	w.mounts.set("/plain", "", 0)
	w.w.Reconsider()
	w.bells()
	if c := w.claim(h, registry.ClaimUser); c.Refused != registry.RefusedEmpty || w.w.Budget(h) != 0 {
		t.Errorf("an unserved claim: %+v", c)
	}
	if got, err := w.r.Get(registry.AsOwner(h), task.ID); err != nil || got.Reported {
		t.Errorf("the task cannot be read any more: %v", err)
	}
	_, err := w.r.Start(t.Context(), registry.AsOwner(h), registry.Spec{Kind: "bash", Label: "x", Producer: "idle"}, func(registry.Row) error { return nil })
	if !errors.Is(err, registry.ErrNoController) {
		t.Errorf("a start: %v", err)
	}
	w.mounts.set("/plain", config.Wakeup, 1)
	w.w.Reconsider()
	w.bells("o-1 1 wake")
}

// TestNobodyToRing: a lost host is not rung, and a notice that was parked
// after a cancel rings nobody but goes along with the next; an end after the
// cancel wakes again (T168, T169).
func TestNobodyToRing(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s", "/")
	w.ended(h)
	c := w.claim(h, registry.ClaimWake)
	w.bells("o-1 1 wake")
	if err := w.r.Release(h, c.Lease, true); err != nil {
		t.Fatal(err)
	}
	w.w.Reconsider()
	w.bells()
	if c := w.claim(h, registry.ClaimWake); c.Refused != registry.RefusedEmpty {
		t.Errorf("a wake for parked notices alone: %+v", c)
	}
	w.ended(h)
	w.bells("o-1 2 wake")
	w.r.HostGone(w.host)
	w.w.Reconsider()
	w.bells()
	w.owner("s", "/")
	if c := w.claim(h, registry.ClaimWake); len(c.Tasks) != 2 {
		t.Errorf("after the host came back: %+v", c)
	}
}
