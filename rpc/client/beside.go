package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"sidetask/paths"
	"sidetask/process/wire"
)

// ofTask reports whether this process belongs to a task of the daemon of that
// socket. The task's keeper is the reaper of all that comes from here, detached
// or not: the end of the task would be the end of a daemon that is started here,
// and of every task that it has started since.
func ofTask(socket string) bool {
	return os.Getenv("SIDETASK_TASK") != "" && os.Getenv("SIDETASK_SOCKET") == socket
}

// errKeeper says that the keeper of the task that this process belongs to did not
// start the helper.
var errKeeper = errors.New("its keeper starts none")

// startBeside has the keeper of our own task run the helper, beside itself and so
// where the end of the task ends nothing.
func (a *Autostart) startBeside(ctx context.Context, socket string) (Report, error) {
	conn, err := dialKeeper(ctx)
	if err == nil {
		defer func() { _ = conn.Close() }()
		_, err = conn.Write(wire.Encode(&wire.Request{
			Op:   wire.OpBeside,
			Path: a.Executable,
			Argv: append([]string{a.Executable}, a.Args...),
			Env:  daemonEnv(os.Environ(), socket),
		}))
	}
	if err != nil {
		return Report{}, fmt.Errorf("%w (%w)", errKeeper, err)
	}
	return hear(ctx, conn, nil)
}

// dialKeeper connects to the keeper of our own task.
func dialKeeper(ctx context.Context) (net.Conn, error) {
	row, err := strconv.ParseUint(os.Getenv("SIDETASK_TASK"), 10, 63)
	if err != nil {
		return nil, fmt.Errorf("SIDETASK_TASK is no task: %w", err)
	}
	where, err := paths.Find()
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(where.Control(), strconv.FormatUint(row, 10))
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	return ours(conn, socket)
}
