package acp

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// descendants finds what descends from a process by parent links, parents
// before children.
func descendants(root int) []process {
	children := map[int][]int{}
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, d := range dir {
		if pid, err := strconv.Atoi(d.Name()); err == nil {
			if f := stat(pid); f != nil {
				parent, _ := strconv.Atoi(string(f[1]))
				children[parent] = append(children[parent], pid)
			}
		}
	}
	var all []process
	for queue := children[root]; len(queue) > 0; queue = queue[1:] {
		all = append(all, process{queue[0], birthOf(queue[0])})
		queue = append(queue, children[queue[0]]...)
	}
	return all
}

// birthOf is the start time of a process, or "" where there is none. A zombie is none.
func birthOf(pid int) string {
	f := stat(pid)
	if f == nil || string(f[0]) == "Z" {
		return ""
	}
	return string(f[19])
}

// stat gives the fields of /proc/PID/stat from the third (the state) on.
func stat(pid int) [][]byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	i := bytes.LastIndexByte(b, ')')
	f := bytes.Fields(b[i+1:])
	if i < 0 || len(f) < 20 {
		return nil
	}
	return f
}
