package client

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// closeOnExec marks every descriptor from first on, so that no child of this
// process gets what this process was started with.
func closeOnExec(first int) error {
	err := unix.CloseRange(uint(first), ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil || !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EPERM) {
		return err
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11, or in a strict container
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= first {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
