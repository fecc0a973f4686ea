package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
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

// change is one event of task/subscribe; set is the state after a (re)connect.
type change struct {
	set     []rpc.Task // not nil: all there is
	changed *rpc.Task
	removed string
}

func (b *board) apply(c change) {
	if c.set != nil {
		b.tasks, b.order = map[string]rpc.Task{}, nil
		for _, t := range c.set {
			b.put(t)
		}
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
	_ = first.Close()
	changes := make(chan change)
	o.Handle = func(ctx context.Context, _ *client.Client, method string, params json.RawMessage) (any, error) {
		return nil, deliverChange(ctx, changes, method, params)
	}
	keeper := client.Keep(client.KeeperOptions{
		Options: o, Revive: !p.noAutostart,
		OnConnect: func(ctx context.Context, c *client.Client) error {
			tasks, err := listTasks(ctx, c.Call)
			if err != nil {
				return err
			}
			var now rpc.TaskSubscribed
			if err := c.Call(ctx, rpc.MethodTaskSubscribe, rpc.TaskSubscribe{}, &now); err != nil {
				return err
			}
			set := map[string]rpc.Task{}
			for _, t := range slices.Concat(tasks, now.Tasks) {
				set[t.ID] = t
			}
			return send(ctx, changes, change{set: slices.SortedFunc(maps.Values(set), byStart)})
		},
	})
	defer func() { _ = keeper.Close() }()
	return p.show(ctx, f, changes)
}

func byStart(a, b rpc.Task) int { return int(a.StartedAt - b.StartedAt) }

// deliverChange decodes one notification of the daemon.
func deliverChange(ctx context.Context, changes chan<- change, method string, params json.RawMessage) error {
	switch method {
	case rpc.NotifyTaskChanged:
		var note rpc.TaskChanged
		if err := json.Unmarshal(params, &note); err != nil {
			return err
		}
		return send(ctx, changes, change{changed: &note.Task})
	case rpc.NotifyTaskRemoved:
		var note rpc.TaskRemoved
		if err := json.Unmarshal(params, &note); err != nil {
			return err
		}
		return send(ctx, changes, change{removed: note.ID})
	}
	return nil
}

func send(ctx context.Context, changes chan<- change, c change) error {
	select {
	case changes <- c:
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
