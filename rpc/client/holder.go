package client

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Holder is the daemon that has the single-instance lock of a state folder, as
// it says itself in the lock file. It may be one that cannot be reached.
type Holder struct {
	PID    int
	Socket string // on which it listens
	Serves bool   // it is neither about to start nor about to end
}

// FindHolder says who has that lock; false if nobody does.
func FindHolder(lock string) (Holder, bool) {
	file, err := os.Open(lock)
	if err != nil {
		return Holder{}, false
	}
	defer func() { _ = file.Close() }()
	// A shared lock, given back at once: were a daemon to start in this moment, its
	// starter would try again.
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return Holder{}, false
	}
	text, _ := io.ReadAll(io.LimitReader(file, 4096)) // what cannot be read names nobody
	line, rest, _ := strings.Cut(string(text), "\n")
	number, socket, _ := strings.Cut(line, " ")
	pid, _ := strconv.Atoi(number)
	return Holder{PID: pid, Socket: socket, Serves: rest == "serving\n"}, true
}

// Advice is what to do about a daemon that has the lock and is not to be heard
// on the socket. Only SIGKILL leaves its tasks to the next daemon whatever
// daemon.onStop says, and ends one that hangs.
func (h Holder) Advice(socket string) string {
	switch {
	case h.Socket != "" && h.Socket != socket:
		return "set SIDETASK_SOCKET=" + h.Socket
	case h.PID == 0:
		return ""
	}
	return fmt.Sprintf("end it with `kill -9 %d` and run the command again; its tasks go on", h.PID)
}
