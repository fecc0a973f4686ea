package acp

import (
	"os"

	"golang.org/x/sys/unix"
)

// pipeSize is what the pipe from the agent holds: four times what is read at
// once, so that the agent goes on while that is looked at.
const pipeSize = 256 << 10

// widen makes the pipe larger. It works as it is where that is not allowed.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeSize) })
	}
}
