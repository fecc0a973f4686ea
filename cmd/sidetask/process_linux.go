package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// process is another process, held so that its number cannot come to mean
// another one.
type process struct{ file *os.File }

// openProcess holds the process pid. One that is gone, and one that cannot be
// watched here (before Linux 5.3, or forbidden), is not waited for: the end of its
// connection, which comes a moment before its own, has to do then.
func openProcess(pid int) (process, error) {
	fd, err := unix.PidfdOpen(pid, 0) // with PIDFD_NONBLOCK it wants Linux 5.10
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL):
		return process{}, nil
	case err == nil:
		if err = unix.SetNonblock(fd, true); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		return process{}, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return process{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// wait returns when the process has ended.
func (p process) wait(ctx context.Context) error {
	if p.file == nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (p process) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}
