package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// waiting reports whether the command has been silent for long and a process of
// its tree is blocked in reading the command's input. Only what was given an
// input can be: /dev/null never blocks, and without a terminal there is none to open.
func (k *keeper) waiting(tree []process) bool {
	patience := time.Duration(k.job.WaitingMs) * time.Millisecond
	if k.input == nil || k.input.fd < 0 || k.ended != nil || time.Since(k.quiet) < patience {
		return false
	}
	name := k.input.name()
	for _, p := range tree {
		if reads(p.pid, name) {
			return true
		}
	}
	return false
}

// name is what the input is called in /proc/<pid>/fd of the processes that read it.
func (in *input) name() string {
	if in.terminal {
		number, err := unix.IoctlGetUint32(in.fd, unix.TIOCGPTN)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("/dev/pts/%d", number)
	}
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", in.fd))
	if err != nil {
		return ""
	}
	return link // pipe:[4711], the same at both ends
}

// reads reports whether a process sits in read(2) on that file just now. The
// kernel tells an ancestor; where it does not, nobody is said to wait.
func reads(pid int, name string) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	if err != nil {
		return false
	}
	var number, fd int
	if _, err := fmt.Sscanf(string(text), "%d 0x%x", &number, &fd); err != nil || number != unix.SYS_READ {
		return false
	}
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
	if err != nil || name == "" {
		return false
	}
	return link == name || link == "/dev/tty" && strings.HasPrefix(name, "/dev/pts/")
}
