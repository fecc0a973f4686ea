package server

import (
	"context"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// credentials of a peer, as they were when it connected (the pid may have
// been used again since).
type credentials struct{ uid, pid int }

// peerOf asks the kernel who connected, before a byte is read.
func peerOf(conn *net.UnixConn) (credentials, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return credentials{}, err
	}
	var cred *unix.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return credentials{}, err
	}
	return credentials{uid: int(cred.Uid), pid: int(cred.Pid)}, nil
}

// awaitHangup returns nil when the peer of a half-closed connection is gone
// altogether: the end of its input alone says nothing (POLLRDHUP), POLLHUP
// does. Nothing is polled: the runtime's poller wakes the check. It returns
// the error of ctx when that ends first. Nobody else may read conn.
func awaitHangup(ctx context.Context, conn *net.UnixConn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Read(func(fd uintptr) bool {
		fds := []unix.PollFd{{Fd: int32(fd)}} // POLLHUP is told unasked
		n, err := unix.Poll(fds, 0)
		return err == nil && n > 0 && fds[0].Revents&unix.POLLHUP != 0
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
