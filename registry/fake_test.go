package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"testing"

	"sidetask/scripts/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// memory is a Store that outlives the registry, as the file does. It can be
// told to refuse commits.
type memory struct {
	mu       sync.Mutex
	tasks    map[Row]Record
	owners   map[Handle]OwnerRecord
	state    State
	refuse   error
	refusals int
	count    int
	last     Change
	closed   bool
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
		m.refusals++
		return m.refuse
	}
	if m.closed {
		return errors.New("commit after close")
	}
	m.count++
	m.last = c
	for _, row := range c.DropTasks {
		delete(m.tasks, row)
	}
	for _, t := range c.Tasks {
		m.tasks[t.Row] = t
	}
	for _, at := range c.Cursors {
		t := m.tasks[at.Row]
		t.Cursor, t.OpCursor = at.Cursor, at.OpCursor
		m.tasks[at.Row] = t
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

// refused is how many commits have been refused.
func (m *memory) refused() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refusals
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
	t := Tailed{Data: []byte(f.of(row).output[req.Offset:]), Offset: req.Offset}
	t.Next = t.Offset + int64(len(t.Data))
	select {
	case <-req.Ended:
		t.EOF = true
	default:
	}
	return t, ctx.Err()
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

func (f *fake) Facts(rows ...Row) []Facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	facts := make([]Facts, len(rows))
	for i, row := range rows {
		w := f.of(row)
		facts[i] = Facts{Bytes: int64(len(w.output)), Disk: int64(len(w.output)), Leftovers: w.leftovers}
	}
	return facts
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
