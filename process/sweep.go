package process

import (
	"bytes"
	"os"
	"strconv"

	"sidetask/registry"
)

// sweepRounds bounds how often what forks meanwhile is looked for again.
const sweepRounds = 20

// sweep ends what a lost keeper left behind: its command dies with it, but what
// that started lives on, unseen, and its parents are gone. Descent is still
// written in the environment, which every child gets (T190): who has this
// task's row and this daemon's socket there is of the task, and nobody else is
// signalled. It says how many it ended.
func (p *Producer) sweep(row registry.Row) int {
	marks := [][]byte{
		[]byte("\x00SIDETASK_SOCKET=" + p.socket + "\x00"),
		[]byte("\x00SIDETASK_TASK=" + name(row) + "\x00"),
	}
	total := 0
	for range sweepRounds {
		n := 0
		for _, pid := range processes() {
			if marked(pid, marks) && killMarked(pid, marks) {
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

// marked reports whether the process was started with all these variables. Other
// people's environments cannot be read, and so are not theirs.
func marked(pid int, marks [][]byte) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(env) == 0 {
		return false
	}
	env = append([]byte{0}, env...)
	for _, mark := range marks {
		if !bytes.Contains(env, mark) {
			return false
		}
	}
	return true
}
