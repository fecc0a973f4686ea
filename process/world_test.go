package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"sidetask/paths"
	"sidetask/registry"
	"sidetask/scope"
	"sidetask/scripts/leaks"
	"sidetask/spool"
	"sidetask/store"
)

// keeperBinary is built once for all tests.
var keeperBinary string

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		crashingDaemon(dir) // until it is killed
	}
	dir, err := os.MkdirTemp("", "keeper")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	keeperBinary = filepath.Join(dir, "sidetask-keeper")
	if out, err := exec.Command("go", "build", "-o", keeperBinary, "sidetask/cmd/sidetask-keeper").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the keeper: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	if err := leaks.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience is how long a test waits for what must happen: a dead man's limit,
// never an expectation.
const patience = time.Minute

// world is a daemon's rooms below the socket, on a state of its own that
// survives a restart.
type world struct {
	testing.TB
	settings Settings
	paths    paths.Paths
	keeper   string
	watcher  *spool.Watcher // nil: the producer's own
	log      *slog.Logger
	wrap     func(registry.Store) registry.Store // nil: the store as it is
	registry *registry.Registry
	p        *Producer
}

// remove deletes a folder that keepers may be writing into, as `rm -r` given again would.
func (w *world) remove(path string) {
	w.Helper()
	err := os.RemoveAll(path)
	for errors.Is(err, syscall.ENOTEMPTY) {
		err = os.RemoveAll(path)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func newWorld(t testing.TB) *world {
	// Short: control sockets have 107 bytes at most.
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w := worldIn(t, dir)
	w.begin()
	t.Cleanup(func() {
		w.killAll()
		w.end()
	})
	return w
}

// worldIn is a world on a state that may be there already.
func worldIn(t testing.TB, dir string) *world {
	w := &world{
		TB: t,
		settings: Settings{
			Shell: "bash", SpoolBytes: 64 << 20, KeepHeadBytes: 1 << 20, CleanOutput: true,
			// What ends at SIGTERM may take any time to be scheduled: a test that wants SIGKILL says so.
			StopGraceMs: patience.Milliseconds(),
		},
		paths:  paths.Paths{State: filepath.Join(dir, "s"), Runtime: filepath.Join(dir, "r")},
		keeper: keeperBinary,
	}
	return w
}

// begin starts the rooms, as a daemon does.
func (w *world) begin() {
	w.Helper()
	if err := w.open(); err != nil {
		w.Fatal(err)
	}
}

func (w *world) open() error {
	if err := w.rooms(); err != nil {
		return err
	}
	return w.p.Recover()
}

// rooms opens the rooms, and leaves what the last daemon left as it is.
func (w *world) rooms() error {
	if err := os.MkdirAll(w.paths.State, 0o700); err != nil {
		return err
	}
	db, err := store.Open(w.paths.Database())
	if err != nil {
		return err
	}
	kept := registry.Store(db)
	if w.wrap != nil {
		kept = w.wrap(db)
	}
	w.registry, err = registry.Open(registry.Options{
		Store:  kept,
		Limit:  func() int64 { return 10000 },
		Serves: func(scope.Path) bool { return true },
		Grace: func() registry.Grace {
			return registry.Grace{Owner: time.Hour, Stop: time.Duration(w.settings.StopGraceMs) * time.Millisecond}
		},
	})
	if err != nil {
		return err
	}
	w.p, err = Open(Options{
		Registry: w.registry,
		Paths:    w.paths,
		Keeper:   w.keeper,
		Socket:   w.socket(),
		Settings: func() Settings { return w.settings },
		watcher:  w.watcher,
		Log:      w.log,
	})
	if err != nil {
		return err
	}
	w.registry.AddProducer(Name, w.p)
	return nil
}

// socket is the name of a socket of this world's own: a sweep goes by it.
func (w *world) socket() string { return filepath.Join(w.paths.Runtime, "sidetask.sock") }

// end stops the rooms and leaves the commands alone.
func (w *world) end() {
	w.Helper()
	if w.p == nil {
		return
	}
	w.registry.Shutdown(context.Background(), false)
	if err := errors.Join(w.p.Close(), w.registry.Close()); err != nil {
		w.Error(err)
	}
	w.p = nil
}

func (w *world) restart() {
	w.Helper()
	w.end()
	w.begin()
}

// killAll ends what a test left running, and waits until it is gone.
func (w *world) killAll() {
	if w.p == nil {
		return
	}
	w.settings.StopGraceMs = 0
	w.p.mu.Lock()
	var rows []registry.Row
	var gone []<-chan struct{}
	for row, k := range w.p.kept {
		rows = append(rows, row)
		gone = append(gone, k.gone)
	}
	w.p.mu.Unlock()
	for i, row := range rows {
		_, _ = w.p.EndLeftovers(row)
		select {
		case <-gone[i]:
		case <-time.After(patience):
			w.Errorf("the tree of row %d did not end", row)
		}
	}
}

func (w *world) context() context.Context {
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	w.Cleanup(cancel)
	return ctx
}

// start starts a command as the operator, with an environment like a person's.
func (w *world) start(command string, change ...func(*Spec)) registry.Task {
	w.Helper()
	s := Spec{Command: command, Cwd: "/", Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/"}}
	for _, f := range change {
		f(&s)
	}
	t, err := w.p.Start(w.context(), registry.AsOperator(), s)
	if err != nil {
		w.Fatalf("start %q: %v", command, err)
	}
	return t
}

// wait waits for the task's end.
func (w *world) wait(t registry.Task) registry.Task {
	w.Helper()
	t, _, err := w.registry.Wait(w.context(), registry.AsOperator(), t.ID, float64(patience.Milliseconds()))
	if err != nil {
		w.Fatal(err)
	}
	if !t.Status.Terminal() {
		w.Fatalf("%s is still %s", t.ID, t.Status)
	}
	return t
}

// gone waits until the task's keeper has ended, and all leftovers with it.
func (w *world) gone(t registry.Task) {
	w.Helper()
	w.p.mu.Lock()
	k := w.p.kept[t.Row]
	w.p.mu.Unlock()
	if k == nil {
		return
	}
	select {
	case <-k.gone:
	case <-time.After(patience):
		w.Fatalf("the keeper of %s did not end", t.ID)
	}
}

// read is one consuming read without a bound.
func (w *world) read(t registry.Task) string {
	w.Helper()
	r, _, receipt, err := w.registry.Read(w.context(), registry.AsOperator(), t.ID, func(registry.Task) int64 { return 0 }, false)
	if err != nil {
		w.Fatal(err)
	}
	receipt.Delivered()
	return r.Text
}

// until waits for one of the texts in the output.
func (w *world) until(t registry.Task, texts ...string) string {
	w.Helper()
	var got []byte
	for off := int64(0); ; {
		piece, err := w.registry.Tail(w.context(), registry.AsOperator(), t.ID, registry.TailRequest{Offset: off, MaxBytes: 1 << 16, Follow: true})
		if err != nil {
			w.Fatalf("waiting for %q, got %q: %v", texts, got, err)
		}
		got = append(got, piece.Data...)
		if slices.ContainsFunc(texts, func(text string) bool { return contains(string(got), text) }) {
			return string(got)
		}
		if piece.EOF {
			w.Fatalf("the output %q ended without %q", got, texts)
		}
		off = piece.Next
	}
}

func detail(t registry.Task) string {
	if t.Detail == nil {
		return ""
	}
	return *t.Detail
}

// is checks status and detail.
func (w *world) is(t registry.Task, status registry.Status, text string) {
	w.Helper()
	if t.Status != status || detail(t) != text {
		w.Errorf("%s ended %s, %q; want %s, %q", t.ID, t.Status, detail(t), status, text)
	}
}

func (w *world) keeperOf(t registry.Task) int {
	w.Helper()
	k, ok := w.p.find(t.Row)
	if !ok {
		w.Fatalf("%s has no keeper", t.ID)
	}
	return k.keeper
}

func (w *world) exitFile(t registry.Task) string {
	return filepath.Join(w.paths.Exits(), name(t.Row))
}

// awaitFile waits until one of the files is there. Only what is below the registry
// has no event for it that a test could hear.
func (w *world) awaitFile(paths ...string) {
	w.Helper()
	eventually(w.TB, fmt.Sprintf("one of %q is there", paths), func() bool {
		return slices.ContainsFunc(paths, func(path string) bool {
			_, err := os.Stat(path)
			return err == nil
		})
	})
}

// awaitGone waits until a process has ended.
func awaitGone(t testing.TB, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("process %d has ended", pid), func() bool {
		fields, err := statFields(pid)
		return err != nil || fields[0] == "Z"
	})
}

// eventually looks until something holds that tells nobody when it does.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func touch(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
