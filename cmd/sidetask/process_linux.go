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

func openProcess(pid int) (process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return process{}, nil
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
