package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A command may have a control group of its own (cgroups(7), version 2): made by
// the daemon, named in the job. The keeper stays outside; so the group can be
// killed as a whole, and what is in it is the command's alone.

// openGroup opens the group for the command to be born into.
func openGroup(dir string) (int, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("control group %s: %w", dir, err)
	}
	return fd, nil
}

// killGroup kills everything in the group at once. The walk through the tree
// follows in any case, so an error changes nothing.
func killGroup(dir string) {
	if dir == "" {
		return
	}
	if file, err := os.OpenFile(filepath.Join(dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
		_, _ = file.WriteString("1")
		_ = file.Close()
	}
}

// removeGroup removes the empty group, with those that the command made below it.
// What cannot be removed is empty still, and goes when a daemon looks next.
func removeGroup(dir string) {
	if dir == "" {
		return
	}
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, path := range slices.Backward(dirs) {
		_ = unix.Rmdir(path)
	}
}

// account adds what the group counted: time of descendants that nobody waited
// for, and, where memory is limited, its peak and whether the limit was met.
func (e *exit) account(dir string) {
	if dir == "" {
		return
	}
	e.CPUMs = max(e.CPUMs, counter(dir, "cpu.stat", "usage_usec")/1000)
	e.OutOfMemory = counter(dir, "memory.events", "oom_kill") > 0
	if text, err := os.ReadFile(filepath.Join(dir, "memory.peak")); err == nil {
		e.MemoryPeak, _ = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // 0 = not known
	}
}

// counter reads one line "name number" of a group's file; 0 where there is none.
func counter(dir, file, name string) int64 {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, _ := strconv.ParseInt(number, 10, 64) // 0 = not known
			return n
		}
	}
	return 0
}
