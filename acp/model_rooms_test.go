package acp

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pgregory.net/rapid"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
	"sidetask/store"
	"sidetask/wakeup"
)

// roomsWakes is the budget of the model's one mount.
const roomsWakes = 2

// rooms are the daemon behind its socket, as it is: the real registry on a real
// database, and the real wakeup. Only the socket is not there: in a bubble
// nothing may wait for the kernel.
type rooms struct {
	t      *rapid.T
	path   string
	disk   *disk
	r      *registry.Registry
	w      *wakeup.Wakeup
	drains int                     // maxDrains
	tasks  map[string]registry.Row // that live, and ended ones

	mu     sync.Mutex         // guards all below
	claims map[string]claimed // the newest of each task
	ended  map[string]bool    // tasks
	acked  map[string]bool    // whose notice the agent has
	acks   []string           // those since the last look
	wakes  int                // granted
	read   map[string]bool    // whose end their owner has read
	wrong  string
}

// claimed is what a claim gave.
type claimed struct {
	reason string
	tasks  []string
}

// disk is a database that takes nothing more after a crash. It sees what becomes
// of each notice.
type disk struct {
	registry.Store
	rooms   *rooms
	crashed atomic.Bool
}

var errCrashed = errors.New("crashed")

func (d *disk) Commit(c registry.Change) error {
	if d.crashed.Load() {
		return errCrashed
	}
	d.rooms.mu.Lock()
	defer d.rooms.mu.Unlock()
	for _, t := range c.Tasks {
		if t.Notice == registry.Acked && !d.rooms.acked[t.ID] {
			d.rooms.acked[t.ID] = true
			d.rooms.acks = append(d.rooms.acks, t.ID)
		}
	}
	return d.Store.Commit(c)
}

// noWork produces nothing: a test ends its tasks.
type noWork struct{ registry.Producer }

func (noWork) Read(registry.Row, registry.ReadRequest) (registry.Reading, error) {
	return registry.Reading{}, nil
}
func (noWork) Cancel(context.Context, registry.Row, *string) error { return nil }
func (noWork) EndLeftovers(registry.Row) (int, error)              { return 0, nil }
func (noWork) Facts(rows ...registry.Row) []registry.Facts         { return make([]registry.Facts, len(rows)) }

func newRooms(t *rapid.T, dir string) *rooms {
	dir, err := os.MkdirTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	h := &rooms{
		t: t, path: filepath.Join(dir, "db"), tasks: map[string]registry.Row{}, drains: rapid.IntRange(1, 3).Draw(t, "drains"),
		claims: map[string]claimed{}, ended: map[string]bool{}, acked: map[string]bool{}, read: map[string]bool{},
	}
	h.open()
	return h
}

// Mount gives the one mount.
func (h *rooms) Mount(scope.Path) (config.Mount, bool) {
	return config.Mount{Scope: "/", Enabled: true, CompletionDelivery: config.Wakeup, MaxConsecutiveWakes: roomsWakes}, true
}

func (h *rooms) open() {
	s, err := store.Open(h.path)
	h.must(err)
	h.disk = &disk{Store: s, rooms: h}
	h.r, err = registry.Open(registry.Options{
		Store: h.disk, Limit: func() int64 { return 1000 }, Serves: func(scope.Path) bool { return true },
		Grace: func() registry.Grace { return registry.Grace{Owner: time.Hour, Stop: time.Second} },
	})
	h.must(err)
	h.r.AddProducer("work", noWork{})
	h.w = wakeup.New(h.r, h)
}

// close ends the daemon: in order, or, crashed, with nothing more written.
func (h *rooms) close(crash bool) {
	h.w.Close()
	if crash {
		h.disk.crashed.Store(true)
	} else {
		h.r.Shutdown(context.Background(), false)
	}
	if err := h.r.Close(); err != nil && !crash {
		h.must(err)
	}
	h.r = nil
}

func (h *rooms) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// owner is the handle of the model's session; "" while it has none.
func (h *rooms) owner() registry.Handle {
	for _, o := range h.r.Owners() {
		if o.Session == "s" {
			return o.Handle
		}
	}
	return ""
}

// hosted reports whether somebody hosts the session.
func (h *rooms) hosted() bool {
	o, ok := h.r.Owner(h.owner())
	return ok && o.Host != nil
}

// budget is how much of it is spent, and how many notices wait and ring.
func (h *rooms) budget() (spent int64, waiting int) {
	o, _ := h.r.Owner(h.owner())
	return o.Spent, o.Waiting
}

// start starts a task of the session's; false where that is refused: it has no host.
func (h *rooms) start() bool {
	task, err := h.r.Start(context.Background(), registry.AsOwner(h.owner()), registry.Spec{Kind: "bash", Label: "make", Stream: true, Producer: "work"}, func(registry.Row) error { return nil })
	if err != nil {
		h.t.Logf("start: %v %+v", err, h.r.Owners())
		return false
	}
	h.tasks[task.ID] = task.Row
	return true
}

func (h *rooms) end(id string) {
	h.ended[id] = true
	h.r.Settle(h.tasks[id], registry.Outcome{Status: registry.Completed, Detail: new("exit code: 0")})
}

// readEnd has the session's agent read an ended task: its notice is due no more.
func (h *rooms) readEnd(id string) {
	_, _, receipt, err := h.r.Read(context.Background(), registry.AsOwner(h.owner()), id, nil, false)
	if err == nil {
		receipt.Delivered()
		h.mu.Lock()
		h.read[id] = true
		h.mu.Unlock()
	}
}

// untold are the ended tasks of which the agent does not know.
func (h *rooms) untold() (ids []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(h.ended)) {
		if !h.acked[id] && !h.read[id] {
			ids = append(ids, id)
		}
	}
	return ids
}
