//go:build !linux

package client

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// peerUID is the owner of the socket file: where the system cannot be asked
// who listens, the file says who made it.
func peerUID(conn *net.UnixConn) (uid int, err error) {
	socket := conn.RemoteAddr().String()
	info, err := os.Lstat(socket)
	if err != nil {
		return 0, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: its owner cannot be told on this system", socket)
	}
	return int(stat.Uid), nil
}
