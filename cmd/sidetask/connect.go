package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"sidetask/paths"
	"sidetask/rpc"
	"sidetask/rpc/client"
)

// clientName is what this program calls itself to the daemon.
const clientName = "sidetask"

// longWait is the longest wait that the daemon takes, in milliseconds (BEHAVIOUR
// T46): 24 days.
const longWait = 2147483647

// moment is how long a daemon may be away before the person is told.
const moment = time.Second

// options says whom this command connects to.
func (p *program) options() (client.Options, error) {
	where, err := paths.Find()
	if err != nil {
		return client.Options{}, &failure{statusNoDaemon, err, ""}
	}
	if where.Ignored {
		// Another daemon may serve the shells where the variable is right.
		p.astray.Do(func() {
			p.say("%s", where.Warning)
			p.say("%s", where.Advice)
		})
	}
	o := client.Options{Socket: where.Socket, Name: clientName, Version: version()}
	if !p.noAutostart {
		o.Autostart, err = client.Self()
	}
	return o, err
}

// dial connects to the daemon, the operator's way, and starts one if there is
// none. The caller closes it.
func (p *program) dial(ctx context.Context) (*client.Client, error) {
	c, err := p.dialWith(ctx, !p.noAutostart)
	if err == nil {
		p.compare(c)
	}
	return c, err
}

// dialWith connects to the daemon. Without autostart none is started for it,
// whatever the flag says.
func (p *program) dialWith(ctx context.Context, autostart bool) (*client.Client, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	if !autostart {
		o.Autostart = nil
	}
	c, err := client.Dial(ctx, o)
	if err != nil {
		return nil, noDaemon(err)
	}
	return c, nil
}

// look asks the daemon how it is, without starting one of our own; nil when
// there is none.
func (p *program) look(ctx context.Context) (*rpc.DaemonStatus, error) {
	c, err := p.dialWith(ctx, false)
	if errors.Is(err, client.ErrNoDaemon) || errors.Is(err, client.ErrLost) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	var status rpc.DaemonStatus
	if err := c.Call(ctx, rpc.MethodDaemonStatus, rpc.Empty{}, &status); err != nil {
		return nil, err
	}
	return &status, nil
}

// compare tells of a daemon that is older than this command.
func (p *program) compare(c *client.Client) {
	if server := c.Server().Server; client.Newer(version(), server.Version) {
		p.say("the daemon is older (%s) than this command (%s): run `sidetask daemon restart`", server.Version, version())
	}
}

// noDaemon gives an error of connecting its exit status. What the daemon itself
// answered, and a stop by signal, keep theirs.
func noDaemon(err error) error {
	var answer *rpc.Error
	if errors.As(err, &answer) || errors.Is(err, context.Canceled) || statusOf(err) != statusError {
		return err
	}
	return &failure{statusNoDaemon, err, ""}
}

// call is for the commands that make one call, which may be repeated, and are done.
func (p *program) call(ctx context.Context, method string, params, result any) error {
	return p.ask(ctx, func(call caller) error { return call(ctx, method, params, result) })
}

// lostTries is how often a question is asked that a daemon leaves unanswered.
const lostTries = 3

// ask asks the daemon what may be asked again: the next one, where it met one that
// was just about to end.
func (p *program) ask(ctx context.Context, question func(call caller) error) error {
	for try := 1; ; try++ {
		c, err := p.dial(ctx)
		if err != nil {
			return err
		}
		err = question(c.Call)
		ending := errors.Is(err, client.ErrLost) || errors.Is(err, rpc.ErrShuttingDown)
		if ending && try < lostTries {
			select {
			case <-c.Done():
			case <-ctx.Done():
			}
		}
		_ = c.Close()
		if !ending || try == lostTries || ctx.Err() != nil {
			return err
		}
	}
}

// link is a connection that is kept over restarts of the daemon, for the
// commands that stay: following and waiting. Several goroutines may call.
type link struct {
	p      *program
	keeper *client.Keeper
	exits  string                   // the folder of exit records
	pid    int                      // of the command that was started; 0: none, or not known
	heard  atomic.Bool              // a call has been answered
	tell   sync.Once                // that the daemon is gone
	ended  atomic.Pointer[rpc.Task] // the end of the task that is followed; see hearEnd
}

// link connects. That it cannot is said now and not after a time-out.
func (p *program) link(ctx context.Context) (*link, error) {
	c, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	o, err := p.options()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	where, err := paths.Find()
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return &link{p: p, exits: where.Exits(), keeper: client.Keep(client.KeeperOptions{Options: o, First: c, Revive: !p.noAutostart})}, nil
}

func (l *link) close() { _ = l.keeper.Close() }

// call makes a call that may be repeated: it is, when the daemon went away in
// the middle. The keeper starts one that crashed again; one that somebody stopped
// is waited for, but for a new task and for a command that has only begun, which
// are reason enough to start the next.
func (l *link) call(ctx context.Context, method string, params, result any) error {
	for {
		needed := method == rpc.MethodTaskStart || !l.heard.Load()
		c, err := l.client(ctx, needed)
		if ctx.Err() != nil { // err says why there is no daemon, of which nobody asks any more
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		err = c.Call(ctx, method, params, result)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, rpc.ErrAborted): // the first thing that a stopping daemon does
		case errors.Is(err, client.ErrLost), errors.Is(err, rpc.ErrShuttingDown):
			select {
			case <-c.Done():
			case <-ctx.Done():
			}
			if needed && !l.p.noAutostart {
				l.keeper.Start()
			}
		default:
			l.heard.Store(true)
			return err
		}
	}
}

// client is the connection. A restart in place takes a moment of which nobody
// needs to know; a longer wait is told. A daemon that somebody stopped stays so
// until there is something to hear, the end of a task that was left running, or the
// call is one that needs a daemon: the one that it had begun may have gone, too.
func (l *link) client(ctx context.Context, needed bool) (*client.Client, error) {
	soon, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	c, err := l.keeper.Client(soon)
	if err == nil || soon.Err() == nil || ctx.Err() != nil {
		return c, err
	}
	if t := l.ended.Load(); t != nil && client.Stopped(err) {
		return nil, &behindError{*t}
	}
	l.tell.Do(func() {
		l.p.say("the daemon is gone; waiting for the next one (`sidetask status` starts it)")
	})
	if l.p.noAutostart {
		return l.keeper.Client(ctx)
	}
	waiting, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if needed || unheardEnd(waiting, l.exits, l.pid) == nil {
			l.keeper.Start()
		}
	}()
	c, err = l.keeper.Client(ctx)
	cancel()
	<-ended
	return c, err
}

// get looks at a task.
func (l *link) get(ctx context.Context, id string) (rpc.Task, error) {
	var result rpc.TaskResult
	err := l.call(ctx, rpc.MethodTaskGet, rpc.TaskRef{ID: id}, &result)
	return result.Task, err
}

// wait waits until the task has ended or the deadline has passed, of which the
// zero time is none. The task says which it was; past the deadline that is a look.
func (l *link) wait(ctx context.Context, id string, deadline time.Time) (rpc.Task, error) {
	for {
		ms := int64(longWait)
		if !deadline.IsZero() {
			ms = min(max(time.Until(deadline).Milliseconds(), 1), longWait)
		}
		var result rpc.TaskResult
		err := l.call(ctx, rpc.MethodTaskWait, rpc.TaskWait{TaskRef: rpc.TaskRef{ID: id}, TimeoutMs: number(ms)}, &result)
		if err != nil || ms < longWait || result.Task.Status.Terminal() {
			return result.Task, err
		}
	}
}

// number is a number where the wire takes any JSON.
func number(n int64) json.RawMessage {
	raw, _ := json.Marshal(n) // an integer always has its JSON
	return raw
}
