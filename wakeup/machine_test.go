package wakeup

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
	"sidetask/store"
)

// TestMachine drives registry and wakeup through random interleavings of all
// calls by three sessions, the operator, three hosts and a producer, with
// restarts in between, and compares them with the model after each step: what
// the single tests pin one by one, in company, and T104 of every snapshot.
// SIDETASK_STEPS sets the number of steps; the soak takes 1000000.
func TestMachine(t *testing.T) {
	want := 20_000
	if s := os.Getenv("SIDETASK_STEPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		want = n
	}
	// A failure prints its seed; a file of it would only stay behind.
	for name, value := range map[string]string{"rapid.steps": "200", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	dir, steps := t.TempDir(), 0
	for steps < want {
		synctest.Test(t, func(t *testing.T) {
			rapid.Check(noDeadline{t}, func(rt *rapid.T) {
				m := newMachine(rt, dir)
				defer m.close()
				for i := range m.owners {
					m.register(i, i, false, nil)
				}
				rt.Repeat(m.actions())
				steps += m.step
			})
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d steps", steps)
}

// work is the machine's producer: it cancels as the step says.
type work struct {
	idle
	m *machine
}

// How a cancel goes in a step.
const (
	cancelAsks  = "asks"
	cancelFails = "fails"
	cancelEnds  = "ends"
)

func (w work) Cancel(_ context.Context, row registry.Row, _ *string) error {
	switch w.m.cancel {
	case cancelFails:
		return errors.New("cannot")
	case cancelEnds:
		w.m.r.Settle(row, registry.Outcome{Status: registry.Killed, Detail: new("signal: SIGTERM")})
	}
	return nil
}

func (w work) Read(row registry.Row, req registry.ReadRequest) (registry.Reading, error) {
	out := w.m.byRow(row).out
	return registry.Reading{Text: strings.Repeat("x", out-int(req.From)), Next: int64(out)}, nil
}

func (w work) Match(ctx context.Context, _ registry.Row, _ int64, _ *regexp.Regexp) error {
	<-ctx.Done()
	return ctx.Err()
}

// receipt is an answer on its way.
type receipt struct {
	*registry.Receipt
	task    *mTask
	reader  int // -1: a wait
	next    int
	reports bool
}

// wait is a wait under way.
type wait struct {
	task   *mTask
	owner  int // as which owner; -1 = the operator
	cancel context.CancelFunc
	until  time.Time
	done   chan answer
}

type answer struct {
	task    registry.Task
	receipt *registry.Receipt
	err     error
}

type machine struct {
	*model
	t        *rapid.T
	r        *registry.Registry
	w        *Wakeup
	store    registry.Store
	path     string // of an SQLite store; "" = memory
	hosts    []*host
	cancel   string // how cancels go in this step
	receipts []receipt
	waits    []*wait
	rounds   map[string]int // completion rounds heard, by task
	sub      *registry.Subscription
	seen     map[string]registry.Status // what the subscription has told
	last     int64
}

func newMachine(t *rapid.T, dir string) *machine {
	m := &machine{
		t: t, model: &model{now: time.Now, mounts: map[scope.Path]config.Mount{}, rang: map[string]bool{}},
		hosts: []*host{{}, {}, {}}, rounds: map[string]int{}, seen: map[string]registry.Status{},
	}
	for _, at := range []scope.Path{"/", "/review", "/review/strict"} {
		m.owners = append(m.owners, &mOwner{scope: at, host: -1})
	}
	m.setMount("/", config.Wakeup, 2)
	if rapid.IntRange(0, 19).Draw(t, "database") == 0 {
		m.path = filepath.Join(dir, fmt.Sprintf("%d.db", time.Now().UnixNano()+int64(len(m.rounds))))
		_ = os.Remove(m.path)
	} else {
		m.store = newMemory()
	}
	m.open()
	return m
}

// Mount answers wakeup from the model's mounts.
func (m *machine) Mount(at scope.Path) (config.Mount, bool) { return m.mount(at) }

func (m *machine) setMount(at scope.Path, delivery string, wakes int64) {
	m.mounts[at] = config.Mount{Scope: at, Enabled: delivery != "", CompletionDelivery: delivery, MaxConsecutiveWakes: wakes}
}

func (m *machine) open() {
	if m.path != "" {
		s, err := store.Open(m.path)
		m.must(err)
		m.store = s
	}
	r, err := registry.Open(registry.Options{
		Store: m.store, Limit: func() int64 { return modelLimit },
		Serves: func(at scope.Path) bool { _, ok := m.mount(at); return ok },
		Grace:  func() registry.Grace { return registry.Grace{Owner: modelGrace, Stop: time.Second} },
	})
	m.must(err)
	r.AddProducer("work", work{m: m})
	r.OnDone("/", func(t registry.Task) { m.rounds[t.ID]++ })
	m.r, m.w = r, New(r, m)
	since := m.last
	m.sub, err = r.Subscribe(registry.AsOperator(), "/", &since)
	m.must(err)
	if m.sub.Reset {
		m.t.Fatalf("the log does not reach back to %d", since)
	}
}

func (m *machine) close() {
	m.sub.Close()
	m.w.Close()
	m.r.Shutdown(context.Background(), false)
	m.must(m.r.Close())
	for _, w := range m.waits {
		w.cancel()
		<-w.done
	}
	m.waits, m.receipts = nil, nil
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatalf("step %d: %v", m.step, err)
	}
}

// wantKind compares an error with the kind that the model expects.
func (m *machine) wantKind(what string, err error, kind string) {
	m.t.Helper()
	got := ""
	var e *registry.Error
	if errors.As(err, &e) {
		got = string(e.Kind)
	} else if err != nil {
		got = err.Error()
	}
	if got != kind {
		m.t.Fatalf("%s: error %q (%v), the model says %q", what, got, err, kind)
	}
}

func (m *machine) byRow(row registry.Row) *mTask {
	i := slices.IndexFunc(m.tasks, func(t *mTask) bool { return t.row == row })
	return m.tasks[i]
}

// noDeadline hides the deadline of a test, which a bubble may not ask for.
type noDeadline struct{ rapid.TB }
