package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxSocketPath is the longest path that the kernel takes (unix(7)).
const maxSocketPath = 107

// probeTimeout is how long a socket that stands there may take to answer.
const probeTimeout = 2 * time.Second

// Listen makes the daemon's socket: mode 0600 from the first instant, in a
// folder that private has made or found to be closed to others (API.md,
// Socket). What is in the way is refused unless it is a dead socket of ours.
// The caller holds the single-instance lock. Closing the listener leaves the
// file: by then it may be a successor's.
func Listen(path string, private func(dir string) error) (*net.UnixListener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("socket path %s has %d bytes, at most %d are possible: set SIDETASK_SOCKET or XDG_RUNTIME_DIR to a shorter one", path, len(path), maxSocketPath)
	}
	if err := private(filepath.Dir(path)); err != nil {
		return nil, err
	}
	if err := clear(path); err != nil {
		return nil, err
	}
	// The mask is the process's: nothing else may make files now.
	old := syscall.Umask(0o177)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	syscall.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false)
	return listener, nil
}

// clear removes a dead socket of ours and refuses everything else.
func clear(path string) error {
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
		return fmt.Errorf("a daemon already listens on %s: use it, or stop it with `sidetask daemon stop`", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("cannot tell whether a daemon listens on %s: %w", path, err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the dead socket: %w", err)
	}
	return nil
}
