package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxDepth bounds how deep a tree is walked at once, and so how many
// descriptors that takes. What lies deeper comes up when those above have ended.
const maxDepth = 256

// signalTree sends a signal to every process below the keeper, leaves before
// their parents: a process that others are re-parented to when their parent
// ends must not go first. But before that all are stopped, parents first, so that
// nobody forks while the walk is further down, and no shell goes on to its next
// command because it saw the one before it end. A TERM comes with a CONT behind.
// It says how many there were.
func (k *keeper) signalTree(signal unix.Signal) (n int) {
	self := os.Getpid()
	for _, pid := range children(self) {
		n += signalBelow(pid, self, signal, 0)
	}
	return n
}

// signalBelow signals pid and what is below it, if it is a child of parent. A
// pid alone is never trusted: first a descriptor pins the process, then its
// parent is compared, so what is signalled is in the tree and nothing else
// (reuse of pids). The caller has parent pinned, too, or is it.
func signalBelow(pid, parent int, signal unix.Signal, depth int) (n int) {
	if pid <= 1 || depth > maxDepth {
		return 0
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0 // ended
	}
	defer unix.Close(fd)
	if _, ppid, ok := stat(pid); !ok || ppid != parent || unix.PidfdSendSignal(fd, 0, nil, 0) != nil {
		return 0
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0)
	for _, child := range children(pid) {
		n += signalBelow(child, pid, signal, depth+1)
	}
	_ = unix.PidfdSendSignal(fd, signal, nil, 0)
	if signal == unix.SIGTERM {
		_ = unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0)
	}
	return n + 1
}

// process is one process of the tree.
type process struct {
	pid  int
	name string
}

// tree lists the live processes below the keeper.
func (k *keeper) tree() []process {
	var list []process
	var walk func(pid, depth int)
	walk = func(pid, depth int) {
		if depth > maxDepth {
			return
		}
		for _, child := range children(pid) {
			if name, _, ok := stat(child); ok {
				list = append(list, process{child, name})
			}
			walk(child, depth+1)
		}
	}
	walk(os.Getpid(), 0)
	return list
}

// children lists the children of a process, those of all its threads.
func children(pid int) []int {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil
	}
	var list []int
	known := false
	for _, thread := range threads {
		text, err := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		if err != nil {
			continue
		}
		known = true
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	if !known {
		return childrenByScan(pid) // a kernel without CONFIG_PROC_CHILDREN
	}
	return list
}

func childrenByScan(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if _, ppid, ok := stat(pid); ok && ppid == parent {
			list = append(list, pid)
		}
	}
	return list
}

// stat gives name and parent of a live process; a zombie is none.
func stat(pid int) (name string, parent int, ok bool) {
	name, fields := statFields(pid)
	if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
		return "", 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return name, parent, err == nil
}

// startTime is when a process started, in ticks since boot; 0 = not known.
func startTime(pid int) uint64 {
	_, fields := statFields(pid)
	if len(fields) < 20 {
		return 0
	}
	start, err := strconv.ParseUint(fields[19], 10, 64) // field 22
	if err != nil {
		return 0
	}
	return start
}

// statFields gives the name of a process and the fields after it. The name is
// in parentheses and may hold anything, parentheses and spaces too.
func statFields(pid int) (name string, fields []string) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", nil
	}
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return "", nil
	}
	return string(text[open+1 : shut]), strings.Fields(string(text[shut+1:]))
}
