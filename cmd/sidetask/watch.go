package main

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// board is what `ls -w` knows: the tasks as of the newest change. It is only
// touched by the goroutine of watch; changes come to it on a channel.
type board struct {
	tasks map[string]rpc.Task
	order []string // of first sight
}

// change is one event of task/subscribe, or the state after a (re)connect.
type change struct {
	reset   bool // set is all there is, which may be nothing
	set     []rpc.Task
	changed *rpc.Task
	removed string
}

func (b *board) apply(c change) {
	if c.reset {
		b.tasks, b.order = map[string]rpc.Task{}, nil
	}
	for _, t := range c.set {
		b.put(t)
	}
	if c.changed != nil {
		b.put(*c.changed)
	}
	delete(b.tasks, c.removed)
}

func (b *board) put(t rpc.Task) {
	if _, known := b.tasks[t.ID]; !known {
		b.order = append(b.order, t.ID)
	}
	b.tasks[t.ID] = t
}

// list is the tasks in order.
func (b *board) list() []rpc.Task {
	b.order = slices.DeleteFunc(b.order, func(id string) bool { _, ok := b.tasks[id]; return !ok })
	list := make([]rpc.Task, 0, len(b.order))
	for _, id := range b.order {
		list = append(list, b.tasks[id])
	}
	return list
}

// watch is `ls -w`: it prints the list at each change until it is stopped. On a
// terminal it redraws in place, and every second for the ages.
func (p *program) watch(ctx context.Context, f lsFlags) error {
	o, err := p.options()
	if err != nil {
		return err
	}
	first, err := p.dial(ctx) // says at once what is wrong
	if err != nil {
		return err
	}
	f.as, err = namedOwner(ctx, first.Call, f.as)
	_ = first.Close()
	if err != nil {
		return err
	}
	news := &feed{changes: make(chan change)}
	o.Handle = news.handle
	keeper := client.Keep(client.KeeperOptions{Options: o, Revive: !p.noAutostart, OnConnect: news.subscribe})
	defer func() { _ = keeper.Close() }()
	return p.show(ctx, f, news.changes)
}

// feed passes on what a kept connection hears of the tasks.
type feed struct {
	changes chan change
	// first is held until the state at the begin of a subscription has been passed
	// on: what is told of it since, on another goroutine, comes after.
	first sync.Mutex
}

// subscribe begins to hear of the tasks on a fresh connection.
func (f *feed) subscribe(ctx context.Context, c *client.Client) error {
	f.first.Lock()
	defer f.first.Unlock()
	var now rpc.TaskSubscribed
	if err := c.Call(ctx, rpc.MethodTaskSubscribe, rpc.TaskSubscribe{}, &now); err != nil {
		return err
	}
	return f.send(ctx, change{reset: true, set: now.Tasks})
}

// handle is the [client.Handler] of the connection: it takes one notification.
func (f *feed) handle(ctx context.Context, _ *client.Client, method string, params json.RawMessage) (any, error) {
	f.first.Lock()
	defer f.first.Unlock()
	switch method {
	case rpc.NotifyTaskChanged:
		var note rpc.TaskChanged
		if err := json.Unmarshal(params, &note); err != nil {
			return nil, err
		}
		return nil, f.send(ctx, change{changed: &note.Task})
	case rpc.NotifyTaskRemoved:
		var note rpc.TaskRemoved
		if err := json.Unmarshal(params, &note); err != nil {
			return nil, err
		}
		return nil, f.send(ctx, change{removed: note.ID})
	}
	return nil, nil
}

func (f *feed) send(ctx context.Context, c change) error {
	select {
	case f.changes <- c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// show draws the board at each change.
func (p *program) show(ctx context.Context, f lsFlags, changes <-chan change) error {
	var b board
	_, isTerminal := terminal(p.stdout)
	var ages <-chan time.Time
	if isTerminal && !f.asJSON {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		ages = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-changes:
			b.apply(c)
		case <-ages:
		}
		if isTerminal && !f.asJSON {
			if err := p.print("\x1b[H\x1b[2J"); err != nil {
				return err
			}
		}
		shown := b.list()
		if isTerminal && !f.asJSON && !slices.ContainsFunc(shown, f.selects) {
			if err := p.print("no tasks\n"); err != nil {
				return err
			}
			continue
		}
		if err := p.printTasks(f, shown, time.Now()); err != nil {
			return err
		}
		if !isTerminal && !f.asJSON {
			if err := p.print("\n"); err != nil { // an empty line ends one state of the list
				return err
			}
		}
	}
}
