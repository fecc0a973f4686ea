package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"sidetask/paths"
)

// errServed says that somebody listens on the socket already.
var errServed = errors.New("a daemon already listens")

// probeTimeout is how long a socket that stands there may take to answer.
const probeTimeout = 2 * time.Second

// makeSocket makes the daemon's socket: mode 0600, in a folder that is made or
// found to be safe (API.md, Socket). What is in the way is refused unless it is a
// dead socket of ours. The caller holds the single-instance lock. Closing the
// listener leaves the file: by then it may be a successor's.
func makeSocket(p paths.Paths) (*net.UnixListener, error) {
	if err := paths.CheckSocket(p.Socket); err != nil {
		return nil, err
	}
	if err := p.SocketFolder(); err != nil {
		return nil, err
	}
	if err := clearSocket(p.Socket); err != nil {
		return nil, err
	}
	// Never with the umask, which is the whole process's: what else makes files or
	// starts programs at that moment would have it, too.
	private := net.ListenConfig{Control: bornPrivate}
	listener, err := private.Listen(context.Background(), "unix", p.Socket)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", p.Socket, err)
	}
	unix := listener.(*net.UnixListener)
	unix.SetUnlinkOnClose(false)
	if runtime.GOOS != "linux" {
		err = os.Chmod(p.Socket, 0o600)
	}
	if err != nil {
		_ = unix.Close()
		return nil, fmt.Errorf("close the socket to others: %w", err)
	}
	return unix, nil
}

// bornPrivate gives a socket its mode before it has a name. Linux alone takes it
// from there.
func bornPrivate(_, _ string, raw syscall.RawConn) error {
	if runtime.GOOS != "linux" {
		return nil
	}
	var err error
	if refused := raw.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), 0o600) }); refused != nil {
		return refused
	}
	return err
}

// clearSocket removes a dead socket of ours and refuses everything else.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the socket: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to uid %d, not to you (%d): sidetask does not touch it; set SIDETASK_SOCKET to another path", path, stat.Uid, os.Getuid())
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is in the way (it is no socket): move it away, or set SIDETASK_SOCKET to another path", path)
	}
	conn, err := net.DialTimeout("unix", path, probeTimeout)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("%w on %s: use it, or stop it with `sidetask daemon stop`", errServed, path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot tell whether a daemon listens on %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the dead socket: %w", err)
	}
	return nil
}
