package client

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is the user that listens on the other end (SO_PEERCRED: as of when
// it began to listen).
func peerUID(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	ctlErr := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if ctlErr != nil {
		return 0, ctlErr
	}
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
