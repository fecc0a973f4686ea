package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sidetask/process/wire"
	"sidetask/registry"
)

// sweep ends what lost keepers left behind: a command dies with its keeper, but
// what that started lives on, unseen, and its parents are gone. A control group
// holds all of it, where there is one. Else marks tell descent: see marks. Nobody
// without one of them is signalled, and nobody at all for a keeper of another
// boot: its processes are gone, and the numbers in its signature are others' now.
// It says how many it ended.
func (p *Producer) sweep(rows ...registry.Row) int {
	m := newMarks(p.socket)
	for _, row := range rows {
		var a wire.Alive
		_ = p.patiently(func() (err error) { // unsigned: there was no command
			a, err = p.signed(row)
			return err
		})
		if otherBoot(a) {
			continue
		}
		if a.Group != "" {
			_ = os.WriteFile(filepath.Join(a.Group, "cgroup.kill"), []byte("1"), 0)
		}
		m.add(row, a)
	}
	if m.since == 0 {
		return 0
	}
	c := chase{marks: m, met: make(map[birth]bool)}
	err := c.run(p.stop)
	if c.killed > 0 {
		p.log.Warn("ended processes of tasks whose keepers were killed", "rows", rows, "processes", c.killed)
	}
	if len(c.alive) > 0 || err != nil {
		p.log.Warn("processes of tasks whose keepers were killed may go on: look for them, and end them", "rows", rows, "processes", named(c.alive), "error", err)
	}
	return c.killed
}

// marks are what shows that a process is of the tree of one of some tasks; each
// is inherited by every child. The keeper's mark ([wire.Alive]) is what a process
// keeps that cleans its environment, leaves its session and closes what it has
// open. It goes only with a limit of real-time scheduling of its own; then the
// variables that the command was started with (T190), or the command's output
// pipes, still show it. Who has thrown away all three is not found, nor is what
// another user runs (sudo). For each mark: since when it was given, in ticks since
// boot; what is older has got the same by chance.
type marks struct {
	socket []byte // this daemon's, as a variable
	rows   map[string]uint64
	pipes  map[string]uint64
	limits map[uint64]uint64
	since  uint64 // the earliest of all; 0 = there are no marks
}

func newMarks(socket string) *marks {
	return &marks{
		socket: []byte("\x00SIDETASK_SOCKET=" + socket + "\x00"),
		rows:   make(map[string]uint64),
		pipes:  make(map[string]uint64),
		limits: make(map[uint64]uint64),
	}
}

// add adds the marks of a task; none of one whose keeper's start is not known.
func (m *marks) add(row registry.Row, a wire.Alive) {
	if a.Start == 0 {
		return
	}
	if m.since == 0 || a.Start < m.since {
		m.since = a.Start
	}
	m.rows[name(row)] = a.Start
	for _, pipe := range a.Pipes {
		m.pipes[pipe] = a.Start
	}
	if a.Mark != 0 {
		m.limits[a.Mark] = a.Start
	}
}

// on reports whether a process has one of the marks, and when it started. The limit
// is looked at first: that takes one call, and no time for who may be gone soon.
func (m *marks) on(pid int) (start uint64, marked bool) {
	since, limited := m.limits[realtimeLimit(pid)]
	start, err := startTime(pid)
	if err != nil || start < m.since {
		return 0, false
	}
	if limited && start >= since {
		return start, true
	}
	since, ok := m.rows[m.taskOf(pid)]
	return start, ok && start >= since || m.inFiles(pid, start)
}

// taskOf is the row that the process's environment names, "" where it is not of
// this daemon. Other people's processes cannot be looked into, and so are nobody's.
func (m *marks) taskOf(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(env) == 0 {
		return ""
	}
	env = append([]byte{0}, env...)
	if !bytes.Contains(env, m.socket) {
		return ""
	}
	_, rest, _ := bytes.Cut(env, []byte("\x00SIDETASK_TASK="))
	row, _, _ := bytes.Cut(rest, []byte{0})
	return string(row)
}

func (m *marks) inFiles(pid int, start uint64) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	entries, err := os.ReadDir(dir)
	if err != nil || len(m.pipes) == 0 {
		return false
	}
	for _, entry := range entries {
		link, err := os.Readlink(filepath.Join(dir, entry.Name()))
		if err != nil || !strings.HasPrefix(link, "pipe:") {
			continue
		}
		if since, ok := m.pipes[link]; ok && start >= since {
			return true
		}
	}
	return false
}
