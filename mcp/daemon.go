package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// attempts is how often a call is made that a daemon refuses because it is
// shutting down: on the next daemon, and once more.
const attempts = 3

// daemon is the connection to the daemon. It is made for the first tool call,
// since only a call may start a daemon, and comes back by itself.
type daemon struct {
	options Options
	times   times

	once   sync.Once // opens, or at the end makes sure that nothing opens
	keeper *client.Keeper
	own    *own // nil with a token
}

func newDaemon(o Options, t times) *daemon { return &daemon{options: o, times: t} }

func (d *daemon) open(agent *mcp.Implementation) {
	o := client.KeeperOptions{Options: client.Options{
		Socket:    d.options.Socket,
		Name:      "sidetask mcp",
		Version:   d.options.Version,
		Token:     d.options.Token,
		Delivered: true,
		Autostart: d.options.Autostart,
	}}
	if d.options.Token == "" {
		d.own = newOwn(d.options, agent)
	}
	o.OnConnect = d.connected
	d.keeper = client.Keep(o)
}

// connected makes a fresh connection usable.
func (d *daemon) connected(ctx context.Context, c *client.Client) error {
	if version := c.Server().Server.Version; client.Newer(d.options.Version, version) {
		d.options.Log.Warn("the daemon is older than this program: run `sidetask daemon restart`", "daemon", version, "program", d.options.Version)
	}
	if d.own == nil {
		return nil
	}
	return d.own.register(ctx, c)
}

// reply is the daemon's answer to a tools/call. Exactly one of its functions is
// to be called, when it is known whether the agent has got the answer.
type reply struct {
	rpc.ToolsCallResult
	delivered func()
	failed    func()
}

// call makes one tools/call.
func (d *daemon) call(ctx context.Context, agent *mcp.Implementation, params rpc.ToolsCall) (reply, error) {
	d.once.Do(func() { d.open(agent) })
	if d.keeper == nil {
		return reply{}, context.Canceled // the server is ending
	}
	if d.own != nil {
		params.Token = d.own.token
	}
	waits := waiting(params.Name, params.Arguments)
	rest, began := params.MaxWaitMs, time.Now()
	for n := 1; ; n++ {
		if n > 1 && rest > 0 { // the agent's patience does not begin anew; 0 would be any
			params.MaxWaitMs = max(rest-1-time.Since(began).Milliseconds(), 1)
		}
		c, err := d.connect(ctx, n == 1 || !waits)
		if err != nil {
			return reply{}, err
		}
		var r reply
		arrived, err := d.callWatched(ctx, c, params, &r.ToolsCallResult)
		r.delivered, r.failed = func() { arrived(true) }, func() { arrived(false) }
		switch {
		case err == nil && d.own != nil:
			return d.own.addNotices(ctx, c, params.Name, r), nil
		case err == nil:
			return r, nil
		case errors.Is(err, client.ErrLost):
			_ = d.gone(ctx, c) // so that the next call does not find this connection
			return reply{}, err
		case !errors.Is(err, rpc.ErrShuttingDown) || n == attempts:
			return reply{}, err
		}
		if err := d.gone(ctx, c); err != nil {
			return reply{}, err
		}
	}
}

// connect waits for a connection, for a bounded time. Without revive it starts
// no daemon: a wait that a person's `daemon stop` ended must not undo the stop.
func (d *daemon) connect(ctx context.Context, revive bool) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, d.times.connect)
	defer cancel()
	if revive {
		d.keeper.Start()
	}
	return d.keeper.Client(ctx)
}

// gone waits for the end of a connection that a daemon is about to end, or has.
func (d *daemon) gone(ctx context.Context, c *client.Client) error {
	timer := time.NewTimer(d.times.leave)
	defer timer.Stop()
	select {
	case <-c.Done():
		return nil
	case <-timer.C:
		return rpc.ErrShuttingDown
	case <-ctx.Done():
		return ctx.Err()
	}
}

// explain says to the model what is wrong and what to do.
func (d *daemon) explain(err error) string {
	var answer *rpc.Error
	var start *client.StartError
	switch {
	case errors.Is(err, errSilent):
		return fmt.Sprintf("the sidetask daemon at %s is connected but answers nothing, so the outcome of this call is not known; it may be stopped or overloaded: tell the user, or try again later (task_list shows whether a start took place)", d.options.Socket)
	case errors.Is(err, rpc.ErrShuttingDown):
		return "the sidetask daemon is shutting down; try again in a moment"
	case errors.As(err, &answer):
		return answer.Message
	case errors.Is(err, client.ErrLost):
		return "the connection to the sidetask daemon was lost during this call, so its outcome is not known; the daemon may be restarting: try again in a moment (task_list shows whether a start took place)"
	case errors.As(err, &start) && start.Next != "":
		return fmt.Sprintf("the sidetask daemon could not be started: %s; %s", start.Message, start.Next)
	case errors.As(err, &start):
		return "the sidetask daemon could not be started: " + start.Message
	case errors.Is(err, client.ErrNoDaemon), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no sidetask daemon answers at %s; it may be restarting: try again in a moment", d.options.Socket)
	default:
		return fmt.Sprintf("the sidetask daemon at %s cannot be reached: %v; try again in a moment", d.options.Socket, err)
	}
}

// close ends the connection, and with it an owner of its own.
func (d *daemon) close() {
	d.once.Do(func() {})
	if d.keeper == nil {
		return
	}
	if d.own != nil {
		d.own.dispose(d.keeper)
	}
	_ = d.keeper.Close()
}
