package producer

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"sidetask/paths"
	"sidetask/registry"
	"sidetask/spool"
)

// Name is under which the outside producers are known to the registry.
const Name = "outside"

// cancelTimeout is how long a producer may take to refuse a cancel; silence
// means that it is stopping (API.md, task/cancel).
const cancelTimeout = time.Second

// maxKind bounds a kind (API.md, task/register).
const maxKind = 64

// disconnected is the outcome of a task whose producer did not come back.
const disconnected = "producer disconnected"

// Conn is a producer's connection. Compared by identity.
type Conn interface {
	// Cancel asks the producer to stop a task. An error is the producer's own, or
	// says that the connection is gone; when ctx ends first, its error.
	Cancel(ctx context.Context, id string, reason *string) error
}

// Settings are read at each use.
type Settings struct {
	Grace     time.Duration // owners.producerGraceMs
	Spool     int64         // commands.spoolBytes
	SpoolHead int64         // commands.keepHeadBytes
}

// Options are what Open needs. All but Log are required.
type Options struct {
	Registry *registry.Registry
	Paths    paths.Paths
	Settings func() Settings
	Log      *slog.Logger // nil = discard
}

// Outside is the registry.Producer of all outside producers.
type Outside struct {
	registry *registry.Registry
	dir      string
	settings func() Settings
	log      *slog.Logger

	wg     sync.WaitGroup // late cancels; each ends within cancelTimeout
	mu     sync.Mutex     // guards all below
	works  map[registry.Row]*work
	closed bool
}

var _ registry.Producer = (*Outside)(nil)

// Open makes the producer and adds it to the registry. Call Recover before
// clients are let in.
func Open(o Options) (*Outside, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	outside := &Outside{
		registry: o.Registry, dir: o.Paths.Outside(),
		settings: o.Settings, log: o.Log, works: make(map[registry.Row]*work),
	}
	if err := paths.Private(outside.dir); err != nil {
		return nil, err
	}
	o.Registry.AddProducer(Name, outside)
	return outside, nil
}

// Registration is what a producer says of its task.
type Registration struct {
	Kind        string
	Label       string
	Stream      bool
	Shared      bool
	OutputLimit any // nil = none; else a JSON value as it was given
}

// Register admits a task whose work the connection does. The key lets a later
// connection resume it. started must be called once the producer has been told
// of the task's id: it is asked to cancel nothing that it does not know.
func (o *Outside) Register(ctx context.Context, c registry.Caller, r Registration, conn Conn) (task registry.Task, key string, started func(), err error) {
	if err := checkKind(r.Kind); err != nil {
		return registry.Task{}, "", nil, err
	}
	key, hash := newKey()
	var w *work
	var row registry.Row
	task, err = o.registry.Start(ctx, c, registry.Spec{
		Kind: r.Kind, Label: r.Label, OutputLimit: r.OutputLimit, Stream: r.Stream, Shared: r.Shared, Producer: Name,
	}, func(given registry.Row) error {
		row = given
		w = &work{dir: o.folder(row), meta: meta{Stream: r.Stream, Key: hash}, conn: conn, changed: make(chan struct{}), named: make(chan struct{})}
		if err := w.begin(); err != nil {
			return err
		}
		return o.keep(row, w)
	})
	if err != nil && w != nil {
		o.abandon(row, w, err)
	}
	if err != nil {
		return registry.Task{}, "", nil, err
	}
	return task, key, func() { o.named(w, task.ID) }, nil
}

// abandon undoes a start that could not be recorded.
func (o *Outside) abandon(row registry.Row, w *work, why error) {
	detail := why.Error()
	o.end(row, w, registry.Outcome{Status: registry.Failed, Detail: &detail})
	if _, err := removeFolder(w.dir); err != nil {
		o.log.Warn("cannot remove what a task left", "row", row, "error", err)
	}
}

// named lets cancels through, and a kill that came before this.
func (o *Outside) named(w *work, id string) {
	reason, due := w.name(id)
	if !due {
		return
	}
	o.wg.Go(func() {
		if err := w.cancel(context.Background(), reason); err != nil {
			o.log.Warn("a producer refused to cancel its task", "task", id, "error", err)
		}
	})
}

// checkKind refuses what cannot stand in an id. An empty one is the registry's
// to refuse, in its order (BEHAVIOUR T8, T10).
func checkKind(kind string) error {
	bad := func(r rune) bool { return r == '/' || unicode.IsSpace(r) || unicode.IsControl(r) }
	if len(kind) > maxKind || !utf8.ValidString(kind) || strings.ContainsFunc(kind, bad) {
		if len(kind) > maxKind {
			kind = strings.ToValidUTF8(kind[:maxKind], "")
		}
		return registry.Errorf(registry.KindInvalid, "invalid task kind %q: expected 1 to %d bytes without /, space or control character", kind, maxKind)
	}
	return nil
}

func (o *Outside) keep(row registry.Row, w *work) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return registry.ErrShuttingDown
	}
	o.works[row] = w
	return nil
}

// held finds a live task for the connection that holds it.
func (o *Outside) held(conn Conn, id string) (*work, registry.Task, error) {
	task, w, err := o.find(id)
	if err != nil {
		return nil, task, err
	}
	if !w.heldBy(conn) {
		return nil, task, registry.Errorf(registry.KindUnauthorized, "task %s is held by another connection; task/resume with its key takes it over", id)
	}
	return w, task, nil
}

func (o *Outside) find(id string) (registry.Task, *work, error) {
	task, err := o.registry.Get(registry.AsOperator(), id)
	if err != nil {
		return task, nil, err
	}
	if task.Producer != Name {
		return task, nil, registry.Errorf(registry.KindUnauthorized, "task %s is no task of an outside producer", id)
	}
	w := o.work(task.Row)
	if w == nil {
		return task, nil, hasEnded(id)
	}
	return task, w, nil
}

// Append adds output to a stream task.
func (o *Outside) Append(conn Conn, id, text string) error {
	w, task, err := o.held(conn, id)
	if err != nil {
		return err
	}
	if !task.Stream {
		return registry.Errorf(registry.KindInvalid, "task %s is a final-output task: its text is the output of task/settle", id)
	}
	s := o.settings()
	return w.append(text, spool.Limits{Bytes: s.Spool, Head: s.SpoolHead})
}

// Settle ends a task; a later outcome of one that has ended is ignored
// (BEHAVIOUR T59). output is for final-output tasks.
func (o *Outside) Settle(conn Conn, id string, outcome registry.Outcome, output *string) error {
	if !outcome.Status.Terminal() {
		return registry.Errorf(registry.KindInvalid, "invalid status %q: expected completed, killed or failed", outcome.Status)
	}
	w, task, err := o.held(conn, id)
	if err != nil {
		if task.Status.Terminal() {
			return nil
		}
		return err
	}
	if output != nil && task.Stream {
		return registry.Errorf(registry.KindInvalid, "task %s is a stream task: its text is given with task/append", id)
	}
	if w.hasEnded() {
		return nil
	}
	if output != nil {
		s := o.settings()
		if err := w.replace(*output, spool.Limits{Bytes: s.Spool, Head: s.SpoolHead}); err != nil {
			return fmt.Errorf("keep the output of %s: %w", id, err)
		}
	}
	o.end(task.Row, w, outcome)
	return nil
}

// end lets go of a task and settles it: what it wrote is complete by then.
func (o *Outside) end(row registry.Row, w *work, outcome registry.Outcome) {
	if err := w.finish(); err != nil {
		o.log.Error("closing the output of a task failed", "row", row, "error", err)
	}
	o.registry.Settle(row, outcome)
	o.mu.Lock()
	delete(o.works, row)
	o.mu.Unlock()
	w.wake() // who follows it looks again
}

// Resume makes the connection the task's after the one that held it was lost,
// or is about to be. A status of stopping in the snapshot says that a cancel
// has been asked for meanwhile.
func (o *Outside) Resume(conn Conn, id, key string) (registry.Task, error) {
	task, w, err := o.find(id)
	if err != nil {
		return task, err
	}
	if err := w.resume(conn, id, key); err != nil {
		return task, err
	}
	// Read again: a cancel may have come while nobody held the task.
	return o.registry.Get(registry.AsOperator(), id)
}

// ConnGone says that a connection has ended: its tasks have owners.producerGraceMs
// for another to resume them.
func (o *Outside) ConnGone(conn Conn) {
	grace := o.settings().Grace
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	for row, w := range o.works {
		w.lose(conn, grace, func() { o.expire(row, w) })
	}
}

// expire fails a task whose producer did not come back. One whose connection
// the end of the daemon may have closed comes back to the next.
func (o *Outside) expire(row registry.Row, w *work) {
	if o.registry.Ending() || !w.giveUp() {
		return
	}
	detail := disconnected
	o.end(row, w, registry.Outcome{Status: registry.Failed, Detail: &detail})
}

func (o *Outside) work(row registry.Row) *work {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.works[row]
}

func (o *Outside) folder(row registry.Row) string {
	return filepath.Join(o.dir, fmt.Sprint(int64(row)))
}
