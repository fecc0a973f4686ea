package wakeup

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
	"sidetask/store"
)

// TestMachine drives registry and wakeup through random interleavings of all
// calls by three sessions, the operator, three hosts and a producer, with
// restarts in between, and compares them with the model after each step. It
// pins what the single tests pin one by one (T1 to T103, T155, T162 to T168),
// in company. SIDETASK_STEPS sets the number of steps; the soak takes 1000000.
func TestMachine(t *testing.T) {
	want := 20_000
	if s := os.Getenv("SIDETASK_STEPS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		want = n
	}
	if err := flag.Set("rapid.steps", "200"); err != nil {
		t.Fatal(err)
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
	m.must(m.r.Shutdown(context.Background(), false))
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

// check compares everything that can be seen.
func (m *machine) check(*rapid.T) {
	synctest.Wait()
	m.answers()
	r := m.r
	var lines []string
	for _, t := range r.List(registry.AsOperator(), true) {
		m.invariants(t)
		lines = append(lines, line(t.ID, t.Status, detail(t), t.Owner, t.Reported))
	}
	m.same("tasks", append([]string{}, lines...), m.lines())
	for i, o := range m.owners {
		if o.handle == "" {
			continue
		}
		m.checkOwner(i, o)
	}
	for _, t := range m.tasks {
		if m.rounds[t.id] != t.rounds {
			m.t.Fatalf("%s: %d rounds of completion, the model says %d", t.id, m.rounds[t.id], t.rounds)
		}
	}
	m.bells()
	m.follow()
	m.step++
}

func (m *machine) same(what string, got, want any) {
	m.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		m.t.Fatalf("step %d: %s (-model +registry):\n%s", m.step, what, diff)
	}
}

func detail(t registry.Task) string {
	if t.Detail == nil {
		return ""
	}
	return *t.Detail
}

// invariants are T104.
func (m *machine) invariants(t registry.Task) {
	n, err := strconv.ParseInt(strings.TrimPrefix(t.ID, t.Kind+"-"), 10, 64)
	if err != nil || n < 1 || t.Kind == "" || t.Label == "" || t.StartedAt < 0 ||
		(t.FinishedAt != 0) != t.Status.Terminal() || t.FinishedAt != 0 && t.FinishedAt < t.StartedAt {
		m.t.Fatalf("invariants: %+v", t)
	}
}

func (m *machine) checkOwner(i int, o *mOwner) {
	var own, all, due []string
	ends := map[string]int{}
	for _, t := range m.tasks {
		if t.owner != i && t.owner != -2 {
			continue
		}
		all = append(all, t.id)
		if !t.status.Terminal() {
			own = append(own, t.id)
		}
		if t.due() && t.owner == i {
			due = append(due, t.id)
			ends[t.id] = t.endStep
		}
	}
	c := registry.AsOwner(o.handle)
	m.same("live tasks of an owner", idsOf(m.r.List(c, false)), own)
	m.same("tasks of an owner", idsOf(m.r.List(c, true)), all)
	inbox := idsOf(m.r.Inbox(o.handle))
	if !slices.IsSortedFunc(inbox, func(a, b string) int { return ends[a] - ends[b] }) {
		m.t.Fatalf("inbox %q is not in the order of the ends", inbox)
	}
	slices.Sort(inbox)
	slices.Sort(due)
	m.same("inbox", inbox, due)
	got, _ := m.r.Owner(o.handle)
	waiting, parked := m.waiting(i)
	m.same("owner", []any{got.Spent, got.Host != nil, got.Waiting, got.Parked, m.w.Budget(o.handle)},
		[]any{o.spent, o.host >= 0, waiting, parked, m.budget(o)})
}

func (m *machine) budget(o *mOwner) int64 {
	mount, served := m.mount(o.scope)
	if !served {
		return 0
	}
	return max(0, mount.MaxConsecutiveWakes-o.spent)
}

func idsOf(tasks []registry.Task) []string {
	var list []string
	for _, t := range tasks {
		list = append(list, t.ID)
	}
	return list
}

// bells compares who was rung in which lane.
func (m *machine) bells() {
	heard := map[string]bool{}
	for i, h := range m.hosts {
		for _, bell := range h.heard() {
			f := strings.Fields(bell)
			heard[f[0]+" "+f[2]] = true
			if o := slices.IndexFunc(m.owners, func(o *mOwner) bool { return string(o.handle) == f[0] }); o < 0 || m.owners[o].host != i {
				m.t.Fatalf("host %d was rung for %s", i, f[0])
			}
		}
	}
	m.same("bells", slices.Sorted(maps.Keys(heard)), slices.Sorted(maps.Keys(m.rang)))
	clear(m.rang)
}

// follow reads the log: no number twice, and in the end it tells what is.
func (m *machine) follow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	for {
		e, err := m.sub.Next(ctx)
		if err != nil {
			break
		}
		if e.Seq <= m.last {
			m.t.Fatalf("number %d after %d", e.Seq, m.last)
		}
		m.last = e.Seq
		if e.Removed {
			delete(m.seen, e.Task.ID)
		} else {
			m.seen[e.Task.ID] = e.Task.Status
		}
	}
	want := map[string]registry.Status{}
	for _, t := range m.tasks {
		want[t.id] = t.status
	}
	m.same("what the log tells", m.seen, want)
}

// noDeadline hides the deadline of a test, which a bubble may not ask for.
type noDeadline struct{ rapid.TB }
