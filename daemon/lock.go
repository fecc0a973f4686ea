package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sidetask/systemd"
)

// lockVariable hands the locked descriptor to the program that replaces this
// one in a restart, so that no third one can slip in between.
const lockVariable = "SIDETASK_LOCK_FD"

// BusyError is the answer to a second daemon on the same state.
type BusyError struct {
	Socket string // on which the first one listens; empty if it does not say yet
	PID    int
	CutOff bool // nobody can reach it there: the service manager listens in its place
}

// Error says where the first daemon listens and what to do.
func (e *BusyError) Error() string {
	if e.Socket == "" {
		return "another daemon is just starting on the same state folder"
	}
	return fmt.Sprintf("another daemon (pid %d) already serves this state folder; it listens on %s", e.PID, e.Socket)
}

// Hint is what to do about it.
func (e *BusyError) Hint() string {
	if e.CutOff {
		return fmt.Sprintf("it should have ended by itself: end it with `kill -9 %d`; its tasks go on", e.PID)
	}
	return "use that one, stop it with `sidetask daemon stop`, or set XDG_STATE_HOME to another folder"
}

// lock is the single-instance lock: flock(2) on a file that is never deleted,
// since a lock on a deleted file would keep nobody out. It names the socket.
type lock struct{ file *os.File }

// takeLock takes the lock or says who has it ([BusyError]).
func takeLock(path, socket string) (*lock, error) {
	file, err := inheritedLock(path)
	if err != nil {
		return nil, err
	}
	if file == nil {
		file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the single-instance lock: %w", err)
		}
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer func() { _ = file.Close() }()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, holder(file)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	l := &lock{file}
	if err := l.name(socket, false); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// gone says whether what stands at path is not the locked file any more: another
// daemon would find nothing locked.
func (l *lock) gone(path string) bool {
	ours, err := l.file.Stat()
	if err != nil {
		return true
	}
	there, err := os.Lstat(path)
	return err != nil || !os.SameFile(ours, there)
}

// heldByAnother says whether another daemon has, or had, the lock of the file that
// stands at path now.
func heldByAnother(path string) *BusyError {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	if another := holder(file); another.PID != 0 && another.PID != os.Getpid() {
		return another
	}
	return nil
}

// renew takes the lock of the file that stands at path now, made anew if need be.
func (l *lock) renew(path, socket string) error {
	another, err := takeLock(path, socket)
	if err != nil {
		return err
	}
	l.release()
	l.file = another.file
	return nil
}

// Bounds of the wait for a daemon that is about to end (see awaitLock): it has
// settleTime and closeTime, and the manager kills a service that takes 30 s.
const (
	lockTime  = 10 * time.Second
	lockEvery = 50 * time.Millisecond
)

// awaitLock takes the lock. A service whose manager has put its socket in the
// place of that of a daemon which a client had started waits for that daemon, which
// is about to notice, and to end (see guard).
func awaitLock(ctx context.Context, o Options) (*lock, error) {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	for {
		locked, err := takeLock(o.Paths.Lock(), o.Paths.Socket)
		var busy *BusyError
		handed := len(o.Service.Listeners(systemd.ListenerName)) > 0
		if !errors.As(err, &busy) || !handed || busy.Socket != "" && busy.Socket != o.Paths.Socket {
			return locked, err
		}
		select { // flock(2) can wait, but not be told to stop waiting
		case <-time.After(lockEvery):
		case <-ctx.Done():
			busy.CutOff = true
			return nil, busy
		}
	}
}

// inheritedLock is the descriptor that this program's former self left open,
// if it is the lock file that stands at path.
func inheritedLock(path string) (*os.File, error) {
	value, ok := os.LookupEnv(lockVariable)
	if !ok {
		return nil, nil
	}
	if err := os.Unsetenv(lockVariable); err != nil {
		return nil, err
	}
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return nil, nil
	}
	var ours, there unix.Stat_t
	if unix.Fstat(fd, &ours) != nil || unix.Stat(path, &there) != nil || ours.Ino != there.Ino || ours.Dev != there.Dev {
		return nil, nil // somebody else's variable
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), path), nil
}

// name writes who holds the lock, for those who come second, and whether it serves:
// then a client that gets no answer need not go on waiting (see rpc/client).
func (l *lock) name(socket string, serving bool) error {
	text := fmt.Sprintf("%d %s\n", os.Getpid(), socket)
	if serving {
		text += "serving\n"
	}
	// In this order the file always begins with a whole line, whoever reads it
	// or dies in between.
	if _, err := l.file.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("write the single-instance lock: %w", err)
	}
	if err := l.file.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("write the single-instance lock: %w", err)
	}
	return nil
}

// keepOverExec lets the descriptor live through execve(2) and tells the
// environment entry by which the next program finds it.
func (l *lock) keepOverExec() (string, error) {
	if _, err := unix.FcntlInt(l.file.Fd(), unix.F_SETFD, 0); err != nil {
		return "", err
	}
	return lockVariable + "=" + strconv.Itoa(int(l.file.Fd())), nil
}

// release lets the next daemon in.
func (l *lock) release() { _ = l.file.Close() }

func holder(file *os.File) *BusyError {
	text, _ := io.ReadAll(io.LimitReader(io.NewSectionReader(file, 0, 4096), 4096))
	line, _, _ := strings.Cut(string(text), "\n")
	pid, socket, ok := strings.Cut(line, " ")
	if !ok {
		return &BusyError{}
	}
	n, _ := strconv.Atoi(pid)
	return &BusyError{Socket: socket, PID: n}
}
