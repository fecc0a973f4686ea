//go:build darwin || freebsd

package server

import (
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// credentials of a peer, as they were when it connected.
type credentials struct{ uid, pid int }

// peerOf asks the kernel who connected, before a byte is read. The pid is not
// told here.
func peerOf(conn *net.UnixConn) (credentials, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return credentials{}, err
	}
	var cred *unix.Xucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	})
	if err == nil {
		err = inner
	}
	if err != nil {
		return credentials{}, err
	}
	return credentials{uid: int(cred.Uid)}, nil
}

// awaitHangup cannot tell a peer that is gone from one that only ended its
// input: it waits until ctx ends, which is when its answers are written.
func awaitHangup(ctx context.Context, _ *net.UnixConn) error {
	<-ctx.Done()
	return ctx.Err()
}
