package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"sidetask/paths"
)

// ErrNoDaemon says that nobody listens on the socket.
var ErrNoDaemon = errors.New("no sidetask daemon is running")

// errCrashed says of an [ErrNoDaemon] that the daemon did not end in order: one
// that does takes its socket away.
var errCrashed = errors.New("its socket is still there")

// noDaemon is [ErrNoDaemon] with the socket and the next step.
type noDaemon struct {
	socket  string
	crashed bool
	keeper  error // why the keeper of our task did not start one, where we are in a task
}

func (e *noDaemon) Error() string { return fmt.Sprintf("%v at %s", ErrNoDaemon, e.socket) }

// Is reports whether target is [ErrNoDaemon], or errCrashed where that is so.
func (e *noDaemon) Is(target error) bool {
	return target == ErrNoDaemon || e.crashed && target == errCrashed
}

// Stopped reports whether the error is an [ErrNoDaemon] where the last daemon ended in
// order, as one that somebody stopped: no client of it starts the next by itself.
func Stopped(err error) bool { return errors.Is(err, ErrNoDaemon) && !errors.Is(err, errCrashed) }

// Hint is the line that says what to do.
func (e *noDaemon) Hint() string {
	if e.keeper != nil {
		return fmt.Sprintf("one that is started inside a task would end with it, and %v: run `sidetask status` outside", e.keeper)
	}
	return "start one with `sidetask daemon`, or leave out --no-autostart"
}

// reach connects, and starts a daemon where there is none and o says so.
func reach(ctx context.Context, o Options) (net.Conn, error) {
	conn, err := connect(ctx, o.Socket)
	if o.Autostart == nil || !errors.Is(err, ErrNoDaemon) {
		return conn, err
	}
	return o.Autostart.run(ctx, o.Socket)
}

// connect dials the socket and checks that our own user (or root) listens: what
// follows are commands and environments, which are nobody else's business. In
// /tmp anybody could have put a socket of that name.
func connect(ctx context.Context, socket string) (net.Conn, error) {
	if err := paths.CheckSocket(socket); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, explain(socket, err)
	}
	return ours(conn, socket)
}

// ours gives the connection back if our own user, or root, has the other end.
func ours(conn net.Conn, socket string) (net.Conn, error) {
	uid, err := peerUID(conn.(*net.UnixConn))
	if err == nil && uid != os.Getuid() && uid != 0 {
		err = fmt.Errorf("the socket %s is served by uid %d, not by you (%d): remove it, or set SIDETASK_SOCKET", socket, uid, os.Getuid())
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// explain says why a socket could not be connected to.
func explain(socket string, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return &noDaemon{socket: socket}
	case errors.Is(err, syscall.ECONNREFUSED):
		// A file that is no socket refuses, too.
		if info, statErr := os.Lstat(socket); statErr == nil && info.Mode()&fs.ModeSocket == 0 {
			return fmt.Errorf("%s is in the way: it is not a socket; move it away, or set SIDETASK_SOCKET", socket)
		}
		return &noDaemon{socket: socket, crashed: true}
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the socket %s may not be used: it belongs to another user; set SIDETASK_SOCKET or XDG_RUNTIME_DIR", socket)
	}
	return fmt.Errorf("connect to the daemon: %w", err)
}
