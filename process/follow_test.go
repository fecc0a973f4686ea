package process

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"sidetask/registry"
)

// fullStore refuses, while it is full.
type fullStore struct {
	registry.Store
	full    atomic.Bool
	refused chan struct{}
}

func (s *fullStore) Commit(c registry.Change) error {
	if !s.full.Load() {
		return s.Store.Commit(c)
	}
	select {
	case s.refused <- struct{}{}:
	default:
	}
	return errors.New("full")
}

// counting counts how often somebody begins to wait for it.
type counting struct {
	context.Context
	waits atomic.Int64
}

func (c *counting) Done() <-chan struct{} {
	c.waits.Add(1)
	return c.Context.Done()
}

// TestFollowPastAFullDisk: who follows a command that has ended, whose end the store
// refuses, waits for the end, and does not look again and again.
func TestFollowPastAFullDisk(t *testing.T) {
	disk := &fullStore{refused: make(chan struct{}, 10)}
	w := worldIn(t, t.TempDir())
	w.wrap = func(s registry.Store) registry.Store { disk.Store = s; return disk }
	w.begin()
	defer w.end()
	dir := t.TempDir()
	task := w.start("while [ ! -e go ]; do sleep 0.01; done", func(s *Spec) { s.Cwd = dir })
	k, _ := w.p.find(task.Row)
	disk.full.Store(true)
	touch(t, dir, "go")
	<-disk.refused
	<-k.gone
	ctx := &counting{Context: w.context()}
	eof := make(chan bool)
	go func() {
		piece, err := w.registry.Tail(ctx, registry.AsOperator(), task.ID, registry.TailRequest{MaxBytes: 1, Follow: true})
		eof <- piece.EOF && err == nil
	}()
	eventually(t, "it waits", func() bool { return ctx.waits.Load() > 0 })
	<-disk.refused // a second later
	if n := ctx.waits.Load(); n > 1 {
		t.Errorf("it looked %d times while nothing happened", n)
	}
	disk.full.Store(false)
	if !<-eof {
		t.Error("the end was not told")
	}
}
