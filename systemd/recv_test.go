package systemd

import "golang.org/x/sys/unix"

// recvNow receives one datagram if one is there, else it says -1.
func recvNow(fd uintptr, buf []byte) int {
	n, _, err := unix.Recvfrom(int(fd), buf, unix.MSG_DONTWAIT)
	if err != nil {
		return -1
	}
	return n
}
