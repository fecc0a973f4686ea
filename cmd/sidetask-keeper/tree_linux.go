package main

import (
	"bytes"
	"fmt"
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
	for _, pid := range children(self, 1) {
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
	p, ok := stat(pid)
	if !ok || p.parent != parent || unix.PidfdSendSignal(fd, 0, nil, 0) != nil {
		return 0
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGSTOP, nil, 0)
	for _, child := range children(pid, p.threads) {
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
	pid     int
	name    string
	parent  int
	threads int
}

// tree lists the live processes below the keeper.
func (k *keeper) tree() []process {
	var list []process
	var walk func(pid, threads, depth int)
	walk = func(pid, threads, depth int) {
		if depth > maxDepth {
			return
		}
		for _, child := range children(pid, threads) {
			p, ok := stat(child)
			if ok {
				list = append(list, p)
			}
			walk(child, p.threads, depth+1)
		}
	}
	walk(os.Getpid(), 1, 0)
	return list
}

// children lists the children of a process, those of all its threads. Where it
// has one thread, or only its first has children (a keeper's), that one is asked.
func children(pid, threads int) []int {
	if threads == 1 {
		if text, err := readFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)); err == nil {
			return numbers(text)
		}
	}
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return nil
	}
	var list []int
	known := false
	for _, thread := range entries {
		text, err := readFile(tasks + "/" + thread.Name() + "/children")
		if err != nil {
			continue
		}
		known = true
		list = append(list, numbers(text)...)
	}
	if !known {
		return childrenByScan(pid) // a kernel without CONFIG_PROC_CHILDREN
	}
	return list
}

func numbers(text []byte) []int {
	var list []int
	for _, field := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			list = append(list, n)
		}
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
		if p, ok := stat(pid); ok && p.parent == parent {
			list = append(list, pid)
		}
	}
	return list
}

// stat describes a live process. A zombie is none, unless it has more threads: then
// only its first one has ended (pthread_exit in main), and the others run on.
func stat(pid int) (process, bool) {
	name, fields := statFields(pid)
	if len(fields) < 18 {
		return process{}, false
	}
	threads, _ := strconv.Atoi(fields[17]) // field 20; 0 = not known
	if fields[0] == "X" || fields[0] == "Z" && threads <= 1 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	return process{pid: pid, name: name, parent: parent, threads: threads}, err == nil
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
	text, err := readFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", nil
	}
	open, shut := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || shut < open {
		return "", nil
	}
	return string(text[open+1 : shut]), strings.Fields(string(text[shut+1:]))
}
