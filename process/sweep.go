package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sidetask/registry"
)

// sweepRounds bounds how often what forks meanwhile is looked for again.
const sweepRounds = 20

// sweep ends what a lost keeper left behind: its command dies with it, but what
// that started lives on, unseen, and its parents are gone. Its control group
// holds all of it, where it has one. Else two marks still tell descent, which
// every child gets: the task's row and this daemon's socket in the environment
// (T190), and the command's output pipes. Nobody without one of them is
// signalled, and nobody at all for a keeper of another boot: its processes are gone,
// and the numbers of its pipes are others' now. It says how many it ended.
func (p *Producer) sweep(row registry.Row) int {
	a, _ := p.signed(row) // unsigned: there was no command
	if a.otherBoot() {
		return 0
	}
	if a.Group != "" {
		_ = os.WriteFile(filepath.Join(a.Group, "cgroup.kill"), []byte("1"), 0)
	}
	m := &marks{
		env: [][]byte{
			[]byte("\x00SIDETASK_SOCKET=" + p.socket + "\x00"),
			[]byte("\x00SIDETASK_TASK=" + name(row) + "\x00"),
		},
		pipes: a.Pipes,
		since: a.Start,
	}
	total := 0
	for range sweepRounds {
		n := 0
		for _, pid := range processes() {
			if m.on(pid) && killMarked(pid, m) {
				n++
			}
		}
		if n == 0 {
			break
		}
		total += n
	}
	if total > 0 {
		p.log.Warn("ended processes of a task whose keeper was killed", "row", row, "processes", total)
	}
	return total
}

// processes lists all pids but those that are never signalled: the first and our own.
func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid > 1 && pid != os.Getpid() {
			list = append(list, pid)
		}
	}
	return list
}

// marks are what shows that a process is of a task's tree.
type marks struct {
	env   [][]byte // variables that it was started with, all of them
	pipes []string // or one of these open
	since uint64   // and started no earlier than the keeper, in ticks since boot
}

// on reports whether a process has the marks. Other people's processes cannot be
// looked into, and so are not theirs.
func (m *marks) on(pid int) bool {
	start, err := startTime(pid)
	if err != nil || m.since == 0 || start < m.since {
		return false
	}
	return m.inEnvironment(pid) || m.inFiles(pid)
}

func (m *marks) inEnvironment(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(env) == 0 {
		return false
	}
	env = append([]byte{0}, env...)
	for _, mark := range m.env {
		if !bytes.Contains(env, mark) {
			return false
		}
	}
	return true
}

func (m *marks) inFiles(pid int) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil || len(m.pipes) == 0 {
		return false
	}
	for _, entry := range entries {
		link, err := os.Readlink(filepath.Join(dir, entry.Name()))
		if err == nil && strings.HasPrefix(link, "pipe:") && slices.Contains(m.pipes, link) {
			return true
		}
	}
	return false
}
