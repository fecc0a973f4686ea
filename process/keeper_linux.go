package process

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// startKeeper starts a keeper that waits for its job at the other end of a
// socket. Nobody waits for its end in a thread: it has a pidfd.
func startKeeper(binary string) (*spare, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start a keeper: %w", err)
	}
	defer unix.Close(pair[1])
	ours := os.NewFile(uintptr(pair[0]), "keeper")
	conn, err := net.FileConn(ours)
	_ = ours.Close()
	if err != nil {
		return nil, fmt.Errorf("start a keeper: %w", err)
	}
	pidfd, pid, err := fork(binary, pair[1])
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("start a keeper (%s): %w", binary, err)
	}
	return &spare{conn: conn.(*net.UnixConn), pidfd: pidfd, pid: pid}, nil
}

// keeperEnv is all that a keeper has of an environment. It does one thing at a
// time, and what little garbage it makes is collected only under pressure, so
// that an idle keeper never wakes.
var keeperEnv = []string{"GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=8MiB"}

// fork starts the keeper's process, detached from all that is the daemon's.
func fork(binary string, socket int) (pidfd, pid int, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return -1, 0, err
	}
	defer null.Close()
	pidfd = -1
	pid, err = syscall.ForkExec(binary, []string{"sidetask-keeper"}, &syscall.ProcAttr{
		Dir:   "/",
		Env:   keeperEnv,
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(socket)},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	if err != nil {
		return -1, 0, err
	}
	if pidfd < 0 {
		// Before Linux 5.2; the child cannot be reaped before we do it, so its
		// pid is still its own.
		if pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
			return -1, 0, fmt.Errorf("this kernel has no pidfds (Linux 5.3 has): %w", err)
		}
	}
	unix.CloseOnExec(pidfd)
	return pidfd, pid, nil
}

// enterable checks the right x on a file or folder, as the kernel will.
func enterable(path string) error { return unix.Access(path, unix.X_OK) }

// lockNew makes a file and locks it. The lock goes with the open file wherever
// its descriptor is sent.
func lockNew(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// busy reports whether the file's lock is held, and so whether a keeper lives.
func busy(path string) (bool, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	err = unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return true, nil
	}
	return false, err
}

// listener is the process that made the socket at path, if it listens.
func listener(path string) (pid int, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer closeFD(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return 0, err
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Pid), nil
}

// openKeeper gives a descriptor of a keeper that an earlier daemon started. A pid
// is trusted only if the process behind it started when the keeper did, in this boot.
func openKeeper(a wire.Alive) (pidfd int, err error) {
	if otherBoot(a) {
		return -1, fmt.Errorf("process %d ran before the machine was restarted", a.Keeper)
	}
	pidfd, err = unix.PidfdOpen(a.Keeper, 0)
	if err != nil {
		return -1, err
	}
	start, err := startTime(a.Keeper)
	if err == nil && start != a.Start {
		err = fmt.Errorf("process %d is another one now", a.Keeper)
	}
	if err != nil {
		closeFD(pidfd)
		return -1, err
	}
	return pidfd, nil
}

// ended reports whether the process has ended, reaped or not.
func ended(pidfd int) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}

// reap buries an ended keeper and says how it ended. One that an earlier daemon
// started is not ours to bury (ECHILD), and nobody tells.
func reap(pidfd int) string {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PIDFD, pidfd, &info, unix.WEXITED|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return "ended"
		case info.Code == cldExited:
			return "crashed"
		}
		return "was killed"
	}
}

// cldExited is CLD_EXITED of siginfo.h: an exit, not a signal.
const cldExited = 1

// killAndReap ends a keeper that has no command.
func killAndReap(pidfd int) {
	_ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	for unix.Waitid(unix.P_PIDFD, pidfd, nil, unix.WEXITED, nil) == unix.EINTR {
	}
}

// terminate asks a keeper by signal to stop its command: where its control
// socket does not answer.
func terminate(pidfd int) error {
	err := unix.PidfdSendSignal(pidfd, unix.SIGTERM, nil, 0)
	resume(pidfd)
	return err
}

// hangUp asks a keeper by signal to see to it that its control socket is there. One of
// an earlier version does nothing.
func hangUp(pidfd int) error { return unix.PidfdSendSignal(pidfd, unix.SIGHUP, nil, 0) }

// resume lets a keeper go on that somebody stopped.
func resume(pidfd int) { _ = unix.PidfdSendSignal(pidfd, unix.SIGCONT, nil, 0) }

// kill ends a process; who listens for its end is told of it.
func kill(pidfd int) { _ = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0) }

// pin gives a descriptor that stays this process's. An error other than ESRCH says
// nothing of whether there is one.
func pin(pid int) (pidfd int, err error) { return unix.PidfdOpen(pid, 0) }

func closeFD(fd int) {
	if fd >= 0 {
		_ = unix.Close(fd)
	}
}
