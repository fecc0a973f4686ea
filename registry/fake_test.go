package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sidetask/scope"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a Store that outlives the registry, as the file does. It can be
// told to refuse commits.
type memory struct {
	mu     sync.Mutex
	tasks  map[Row]Record
	owners map[Handle]OwnerRecord
	state  State
	refuse error
	count  int
	closed bool
}

func newMemory() *memory {
	return &memory{tasks: map[Row]Record{}, owners: map[Handle]OwnerRecord{}, state: State{Counters: map[string]int64{}}}
}

func (m *memory) Load() (*State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = false
	s := m.state
	s.Counters = maps.Clone(s.Counters)
	s.Log = slices.Clone(s.Log)
	s.Tasks = slices.Collect(maps.Values(m.tasks))
	s.Owners = slices.Collect(maps.Values(m.owners))
	return &s, nil
}

func (m *memory) Commit(c Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return m.refuse
	}
	if m.closed {
		return errors.New("commit after close")
	}
	m.count++
	for _, row := range c.DropTasks {
		delete(m.tasks, row)
	}
	for _, t := range c.Tasks {
		m.tasks[t.Row] = t
	}
	for _, h := range c.DropOwners {
		delete(m.owners, h)
	}
	for _, o := range c.Owners {
		m.owners[o.Handle] = o
	}
	for _, e := range c.Log {
		if e.Seq != m.state.Seq+1 {
			return fmt.Errorf("log entry %d after %d", e.Seq, m.state.Seq)
		}
		m.state.Seq = e.Seq
		m.state.Log = append(m.state.Log, e)
	}
	if c.TrimLog > 0 {
		m.state.Log = slices.DeleteFunc(m.state.Log, func(e LogEntry) bool { return e.Seq < c.TrimLog })
	}
	maps.Copy(m.state.Counters, c.Counters)
	m.state.NextRow = max(m.state.NextRow, c.NextRow)
	m.state.NextOwner = max(m.state.NextOwner, c.NextOwner)
	return nil
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *memory) refusing(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refuse = err
}

// fakeWork is what the fake producer has of a task.
type fakeWork struct {
	output    string
	leftovers int
	removed   bool
	cancels   []string
}

// fake is a Producer whose work does what the test says.
type fake struct {
	mu       sync.Mutex
	work     map[Row]*fakeWork
	onCancel func(Row) error // nil: asked, nothing happens
	readErr  error
	grew     chan struct{}
}

func newFake() *fake { return &fake{work: map[Row]*fakeWork{}, grew: make(chan struct{})} }

func (f *fake) of(row Row) *fakeWork {
	if f.work[row] == nil {
		f.work[row] = &fakeWork{}
	}
	return f.work[row]
}

func (f *fake) Cancel(_ context.Context, row Row, reason *string) error {
	f.mu.Lock()
	w := f.of(row)
	if reason == nil {
		w.cancels = append(w.cancels, "<none>")
	} else {
		w.cancels = append(w.cancels, *reason)
	}
	hook := f.onCancel
	f.mu.Unlock()
	if hook != nil {
		return hook(row)
	}
	return nil
}

func (f *fake) cancels(row Row) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.of(row).cancels)
}

func (f *fake) Read(row Row, req ReadRequest) (Reading, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readErr != nil {
		return Reading{}, f.readErr
	}
	text := f.of(row).output[req.From:]
	return Reading{Text: text, Next: req.From + int64(len(text))}, nil
}

func (f *fake) write(row Row, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(row).output += text
	close(f.grew)
	f.grew = make(chan struct{})
}

func (f *fake) Tail(ctx context.Context, row Row, req TailRequest) (Tailed, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data := f.of(row).output[req.Offset:]
	return Tailed{Data: []byte(data), Offset: req.Offset, Next: req.Offset + int64(len(data)), EOF: req.Ended()}, ctx.Err()
}

func (f *fake) Match(ctx context.Context, row Row, from int64, until *regexp.Regexp) error {
	for {
		f.mu.Lock()
		found, grew := until.MatchString(f.of(row).output[from:]), f.grew
		f.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-grew:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fake) Write(_ context.Context, row Row, req WriteRequest) (int, error) {
	f.write(row, string(req.Data))
	return len(req.Data), nil
}

func (f *fake) EndLeftovers(row Row) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.of(row).leftovers
	f.of(row).leftovers = 0
	return n, nil
}

func (f *fake) Facts(row Row) Facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.of(row)
	return Facts{Bytes: int64(len(w.output)), Disk: int64(len(w.output)), Leftovers: w.leftovers}
}

func (f *fake) Remove(row Row) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(row).removed = true
	return int64(len(f.of(row).output)), nil
}

// fakeHost is a connection.
type fakeHost struct {
	name string
	mu   sync.Mutex
	lost []Handle
}

func (h *fakeHost) Pending(Handle, int, string) {}

func (h *fakeHost) Lost(owner Handle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lost = append(h.lost, owner)
}

func (h *fakeHost) heard() []Handle {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lost)
}

// logged collects the messages of a logger.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(line string) bool { return strings.Contains(line, text) })
}

// world is a registry with everything around it.
type world struct {
	*Registry
	t     testing.TB
	store *memory
	fake  *fake
	host  *fakeHost
	log   *logged

	knobs    sync.Mutex // guards what follows
	limit    int64
	unserved []scope.Path
	grace    Grace
	rings    []Handle
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, store: newMemory(), fake: newFake(), host: &fakeHost{name: "host"}, log: &logged{},
		limit: 10, grace: Grace{Owner: 8 * time.Hour, Stop: 3 * time.Second},
	}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	w.t.Helper()
	r, err := Open(Options{
		Store: w.store,
		Log:   slog.New(slog.NewTextHandler(w.log, nil)),
		Limit: func() int64 { w.knobs.Lock(); defer w.knobs.Unlock(); return w.limit },
		Serves: func(at scope.Path) bool {
			w.knobs.Lock()
			defer w.knobs.Unlock()
			return !slices.Contains(w.unserved, at)
		},
		Grace: func() Grace { w.knobs.Lock(); defer w.knobs.Unlock(); return w.grace },
	})
	if err != nil {
		w.t.Fatal(err)
	}
	r.AddProducer("fake", w.fake)
	r.OnRing(func(h Handle) { w.knobs.Lock(); defer w.knobs.Unlock(); w.rings = append(w.rings, h) })
	w.Registry = r
}

func (w *world) close() {
	w.store.refusing(nil)
	if err := w.Shutdown(w.t.Context(), false); err != nil {
		w.t.Error(err)
	}
}

// restart is the end of this daemon and the begin of the next.
func (w *world) restart() {
	w.t.Helper()
	w.close()
	w.open()
}

// rung gives the bells since the last call.
func (w *world) rung() []Handle {
	w.knobs.Lock()
	defer w.knobs.Unlock()
	rings := w.rings
	w.rings = nil
	return rings
}

// owner registers an owner of the session on the world's host.
func (w *world) owner(session string) Handle {
	w.t.Helper()
	h, err := w.Register(Registration{Token: "token-" + session, Agent: "agent", Session: session, Scope: "/"}, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// start starts a stream task of kind bash.
func (w *world) start(c Caller) Task {
	w.t.Helper()
	t, err := w.Start(w.t.Context(), c, spec(), func(Row) error { return nil })
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func spec() Spec { return Spec{Kind: "bash", Label: "make", Stream: true, Producer: "fake"} }

// end settles a task as completed.
func (w *world) end(t Task) {
	w.Settle(t.Row, Outcome{Status: Completed, Detail: text("exit code: 0")})
}

func (w *world) get(id string) Task {
	w.t.Helper()
	t, err := w.Get(AsOperator(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return t
}

func text(s string) *string { return &s }

func wantMessage(t testing.TB, err error, kind *Error, message string) {
	t.Helper()
	if !errors.Is(err, kind) || err.Error() != message {
		t.Errorf("error is %v (want kind %s), want %q", err, kind.Kind, message)
	}
}

func ids(tasks []Task) []string {
	list := []string{}
	for _, t := range tasks {
		list = append(list, t.ID)
	}
	return list
}

// claim takes what is due under ordinary rules.
func (w *world) claim(h Handle, reason string) Claim {
	w.t.Helper()
	c, err := w.Claim(h, reason, true, ClaimRules{Served: true, MaxWakes: 3}, w.host)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}
