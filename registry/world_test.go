package registry

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetask/scope"
)

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
	w.Shutdown(w.t.Context(), false)
	if err := w.Close(); err != nil {
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

// tok makes a token of a short name.
func tok(name string) string { return name + strings.Repeat(".", max(0, minToken-len(name))) }

// owner registers an owner of the session on the world's host.
func (w *world) owner(session string) Handle {
	w.t.Helper()
	h, err := w.Register(Registration{Token: tok("token-" + session), Agent: "agent", Session: session, Scope: "/"}, w.host)
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
