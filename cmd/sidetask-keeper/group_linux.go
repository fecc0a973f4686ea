package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sidetask/process/wire"

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

// memory follows memory.events of a group with a memory limit: what happened has
// to be read while the group is there, and the manager of a scope removes it as soon
// as it is empty.
type memory struct {
	dir      string
	fd       int   // -1 = no limit, or the command has ended
	exceeded bool  // the limit killed something
	peak     int64 // bytes; 0 = not known (before Linux 5.19)
}

// watch begins to follow.
func (m *memory) watch(dir string) {
	m.dir, m.fd = dir, -1
	if dir == "" {
		return
	}
	fd, err := unix.Open(filepath.Join(dir, "memory.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return // the memory controller does not count here
	}
	m.fd = fd
	m.look()
}

// look reads the events; the next change is told by poll (POLLPRI) from then on.
func (m *memory) look() {
	if m.fd < 0 {
		return
	}
	var buf [512]byte
	n, err := unix.Pread(m.fd, buf[:], 0)
	if err != nil {
		m.end() // the group is gone, and poll would say so for ever
		return
	}
	m.exceeded = m.exceeded || counter(buf[:n], "oom_kill") > 0
	if text, err := os.ReadFile(filepath.Join(m.dir, "memory.peak")); err == nil {
		if peak, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
			m.peak = max(m.peak, peak)
		}
	}
}

// end stops following.
func (m *memory) end() {
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
		m.fd = -1
	}
}

// account adds what the group counted: time of descendants that nobody waited
// for, and, where memory is limited, its peak and whether the limit was met.
func (k *keeper) account(e *wire.Exit) {
	if k.job.Group == "" {
		return
	}
	k.memory.look()
	k.memory.end()
	e.OutOfMemory, e.MemoryPeak = k.memory.exceeded, k.memory.peak
	if text, err := os.ReadFile(filepath.Join(k.job.Group, "cpu.stat")); err == nil {
		e.CPUMs = max(e.CPUMs, counter(text, "usage_usec")/1000)
	}
}

// counter finds one line "name number" in a group's file; 0 where there is none.
func counter(text []byte, name string) int64 {
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, _ := strconv.ParseInt(number, 10, 64) // 0 = not known
			return n
		}
	}
	return 0
}
