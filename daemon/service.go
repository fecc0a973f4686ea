package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"sidetask/rpc"
)

// What the daemon tells its service manager, and is asked by it.

// watchdog feeds the manager's watchdog for as long as the daemon is well. The
// status line rides along, so that it is never older than that.
func (d *daemon) watchdog(ctx context.Context, socket *socket) {
	var told string
	d.options.Service.Watch(ctx, d.log.Logger, func(ctx context.Context) error {
		d.registry.Counts() // it answers, or this never returns
		if err := answers(ctx, socket.path); err != nil {
			return err
		}
		if line := d.statusLine(); line != told {
			told = line
			return d.options.Service.Status(line)
		}
		return nil
	})
}

// answers says whether the daemon's socket does. It does not matter what: a
// server that refuses one more connection lives.
func answers(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("the daemon's own socket: %w", err)
	}
	defer func() { _ = conn.Close() }() // it has served
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	hello, err := json.Marshal(rpc.Initialize{ProtocolVersion: rpc.Version, Client: rpc.Peer{Name: "watchdog"}})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", rpc.MethodInitialize, hello); err != nil {
		return nil // it was refused
	}
	if _, err := conn.Read(make([]byte, 1)); ctx.Err() != nil {
		return errors.Join(errors.New("the daemon's own socket does not answer"), err)
	}
	return nil
}

// closeSupervised closes everything, and asks for more time while it takes:
// tasks that are cancelled have their grace. A restart in place is, to the
// manager, a reload: the process stays.
func (d *daemon) closeSupervised(ctx context.Context, e end) error {
	service := d.options.Service
	if e.next != "" {
		_ = service.Reloading()
	} else {
		_ = service.Stopping("stopping")
	}
	return d.prolonged(func() error { return d.close(ctx, e.cancel) })
}

// prolonged does something that may take longer than the manager waits.
func (d *daemon) prolonged(work func() error) error {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.options.Service.Prolong(ctx, d.log.Logger)
	}()
	err := work()
	stop()
	<-ended
	return err
}
