package config

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// still takes a read lease on a file (fcntl(2), F_SETLEASE): while it is held
// nobody can open the file for writing or truncate it; they wait for release,
// which is microseconds away. busy says that somebody has it open for writing
// already. Where the file system has no leases, or the file belongs to another
// user, it does nothing.
func still(f *os.File) (release func(), busy bool) {
	set := func(kind int) (err error) {
		conn, err := f.SyscallConn()
		if err != nil {
			return err
		}
		if controlErr := conn.Control(func(fd uintptr) { _, err = unix.FcntlInt(fd, unix.F_SETLEASE, kind) }); controlErr != nil {
			return controlErr
		}
		return err
	}
	if err := set(unix.F_RDLCK); err != nil {
		return func() {}, errors.Is(err, unix.EAGAIN)
	}
	// The kernel takes the lease back when the file is closed, should this fail.
	return func() { _ = set(unix.F_UNLCK) }, false
}
