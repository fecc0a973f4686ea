package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sidetask/paths"
)

// lockHolder is the process that holds the single-instance lock of the state
// folder, whether or not it can be reached; 0 if nobody does.
func lockHolder() (pid int) {
	where, _ := paths.Find() // an unusable socket path does not matter here
	file, err := os.Open(where.Lock())
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	// A shared lock, given back at once: were a daemon to start in this moment, its
	// starter would try again.
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0
	}
	line, _ := bufio.NewReader(io.LimitReader(file, 64)).ReadString(' ')
	pid, _ = strconv.Atoi(strings.TrimSpace(line))
	return pid
}
