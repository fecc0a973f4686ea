package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"sidetask/paths"
	"sidetask/registry"
	"sidetask/spool"
)

// Name is the name under which the producer is known to the registry.
const Name = "command"

// waitingMs is how long a command that reads its input is silent before it is
// said to wait for it.
const waitingMs = 45_000

// Options are what a producer needs. All but Socket and Log are required.
type Options struct {
	Registry *registry.Registry
	Paths    paths.Paths
	Keeper   string // path of the sidetask-keeper binary
	Socket   string // for SIDETASK_SOCKET; empty: that of Paths
	Settings func() Settings
	Groups   Groups         // nil = none: a kill walks the tree
	Log      *slog.Logger   // nil = discard
	watcher  *spool.Watcher // nil: a new one
}

// Producer runs commands. It implements [registry.Producer].
type Producer struct {
	registry  *registry.Registry
	paths     paths.Paths
	keeper    string
	socket    string
	settings  func() Settings
	groups    Groups
	log       *slog.Logger
	boot      string        // of the machine
	waiting   int64         // see waitingMs
	survivors time.Duration // see survivorsAfter
	silence   time.Duration // see silence
	watcher   *spool.Watcher
	exits     <-chan struct{} // the folder of exit records changed; nil where we poll
	pids      *pids
	spare     *spares

	done sync.WaitGroup  // the goroutines that tell of ends
	life context.Context // ends with Close
	die  context.CancelFunc
	stop chan struct{} // closed by Close

	mu     sync.Mutex
	kept   map[registry.Row]*kept          // tasks whose keeper lives; guarded by mu
	past   map[registry.Row]registry.Facts // of tasks that have none any more; guarded by mu
	lost   []lostTask                      // for settleLost; guarded by mu
	losing chan struct{}                   // lost has grown
	closed bool                            // guarded by mu
}

// kept is a task whose keeper lives: a running one, or an ended one with
// leftovers. What changes is guarded by the producer's mu.
type kept struct {
	row     registry.Row
	pidfd   int // of the keeper
	input   bool
	keeper  int // pids, for display only
	pid     int
	group   string // folder of the command's control group; "" = none
	graceMs int64  // that a stop by signal has

	ended     bool
	leftovers int

	check   *time.Timer   // runs after a kill; nil before
	overdue *time.Timer   // of a command with a time limit
	told    bool          // that a kill has survivors
	gone    chan struct{} // closed when the keeper has ended, and all leftovers with it
}

var _ registry.Producer = (*Producer)(nil)

// Open makes the folders and begins to listen for ends. Recover must follow
// once the producer is added to the registry.
func Open(o Options) (*Producer, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	for _, dir := range []string{o.Paths.State, o.Paths.Tasks(), o.Paths.Exits(), o.Paths.Runtime, o.Paths.Control()} {
		if err := paths.Private(dir); err != nil {
			return nil, err
		}
	}
	if o.Socket == "" {
		o.Socket = o.Paths.Socket
	}
	p := &Producer{
		registry:  o.Registry,
		paths:     o.Paths,
		keeper:    o.Keeper,
		socket:    o.Socket,
		settings:  o.Settings,
		groups:    o.Groups,
		log:       o.Log,
		boot:      bootID(),
		waiting:   waitingMs,
		survivors: survivorsAfter,
		silence:   silence,
		stop:      make(chan struct{}),
		kept:      make(map[registry.Row]*kept),
		past:      make(map[registry.Row]registry.Facts),
		losing:    make(chan struct{}, 1),
	}
	p.life, p.die = context.WithCancel(context.Background())
	if err := paths.CheckSocket(p.control(1 << 40)); err != nil {
		return nil, fmt.Errorf("keepers' control sockets: %w", err)
	}
	var err error
	if p.pids, err = newPids(p.keeperEnded); err != nil {
		return nil, fmt.Errorf("watch keepers: %w", err)
	}
	unmark()
	p.spare = newSpares(p.keeper)
	p.watcher = o.watcher
	if p.watcher == nil {
		p.watcher = spool.NewWatcher()
	}
	if !p.watcher.Polling() {
		p.exits = p.watcher.Watch(o.Paths.Exits()).C // until the watcher is closed
	}
	p.done.Go(p.pids.run)
	p.done.Go(p.watchExits)
	p.done.Go(p.settleLost)
	return p, nil
}

// Leftovers is how many ended tasks have left processes running.
func (p *Producer) Leftovers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, k := range p.kept {
		if k.ended && k.leftovers > 0 {
			n++
		}
	}
	return n
}

// Warnings tells what the person should know; nil if nothing.
func (p *Producer) Warnings() []string {
	if !p.watcher.Polling() {
		return nil
	}
	return []string{"inotify is not to be had: ends and output of commands are looked for 25 times a second; raise fs.inotify.max_user_instances"}
}

// Close stops listening. Keepers and their commands go on; a later daemon
// adopts them.
func (p *Producer) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	close(p.stop)
	p.die()
	p.spare.close()
	err := errors.Join(p.pids.close(), p.watcher.Close())
	p.done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.kept {
		k.stopChecks()
		closeFD(k.pidfd)
	}
	p.kept = nil
	return err
}

// dir is the task's folder: spools, lock and record.
func (p *Producer) dir(row registry.Row) string {
	return filepath.Join(p.paths.Tasks(), name(row))
}

func (p *Producer) control(row registry.Row) string {
	return filepath.Join(p.paths.Control(), name(row))
}

func (p *Producer) lockFile(row registry.Row) string { return filepath.Join(p.dir(row), "lock") }

// record is where the exit record lies: where the keeper put it, then, once the
// end has been committed, in the task's folder.
func (p *Producer) record(row registry.Row) string {
	return filepath.Join(p.paths.Exits(), name(row))
}

func (p *Producer) oldRecord(row registry.Row) string { return filepath.Join(p.dir(row), "exit") }

func name(row registry.Row) string { return strconv.FormatInt(int64(row), 10) }

// find gives the task if its keeper lives.
func (p *Producer) find(row registry.Row) (kept, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k, ok := p.kept[row]
	if !ok {
		return kept{}, false
	}
	return *k, true
}

// removeAll deletes a task's folder; that of a task which never was.
func (p *Producer) removeAll(row registry.Row) {
	if err := os.RemoveAll(p.dir(row)); err != nil {
		p.log.Warn("cannot delete the folder of a task", "row", row, "error", err)
	}
}
