package process

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// chaseTime bounds how long what forks meanwhile is looked for again.
	chaseTime = 5 * time.Second
	// dyingTime is how long a killed process may take to end: the kernel may hold on
	// to it (a dead network disk).
	dyingTime = time.Second
	// dyingLook is how often it is looked after meanwhile.
	dyingLook = time.Millisecond
)

// chase ends all processes that have marks, look after look, until one finds none and
// can have missed none. What forks and ends at once is caught where a look meets it
// before it has forked; so a look is short, and does not wait for those that it
// killed. Nothing needs to be stopped before: whoever sees its child end and starts
// another is killed in the same look, and a killed process forks no more.
type chase struct {
	marks  *marks
	looked map[int]bool   // at the pids of the last look
	met    map[birth]bool // all that had marks, ended ones too
	killed int
	alive  []int // what the last look killed
}

// birth is what tells a process from all others: a pid is used again.
type birth struct {
	pid   int
	start uint64
}

// errFleeting says that there was no end of new processes.
var errFleeting = errors.New("processes begin and end faster than they can be looked at")

// run chases until nothing is left, stop is closed, or it is in vain: an error, or
// what is in alive does not end.
func (c *chase) run(stop <-chan struct{}) error {
	began := time.Now()
	for last := began; ; {
		news, err := c.look()
		now := time.Now()
		if news {
			last = now
		}
		switch {
		case err == nil && !news && (len(c.alive) == 0 || now.Sub(last) > dyingTime):
			return nil
		case now.Sub(began) > chaseTime && err == nil:
			return errFleeting
		case now.Sub(began) > chaseTime:
			return err
		}
		pause := dyingLook
		if news {
			pause = 0
		}
		select {
		case <-time.After(pause):
		case <-stop:
			return nil
		}
	}
}

// look looks at all processes once, the newest first, and kills those with marks.
// news: there was one that no look had met, or one that was gone before it could be
// looked at. Its child may live.
func (c *chase) look() (news bool, err error) {
	list, err := processes()
	if err != nil {
		return false, err
	}
	before := c.looked
	c.looked, c.alive = make(map[int]bool, len(list)), nil
	for _, pid := range list {
		c.looked[pid] = true
		fresh, err := c.meet(pid, !before[pid])
		if err != nil {
			return news, err
		}
		news = news || fresh
	}
	return news, nil
}

// meet looks at a process, and kills it if it has marks. It is pinned before, so that
// it cannot be another one by then.
func (c *chase) meet(pid int, unseen bool) (news bool, err error) {
	pidfd, err := pin(pid)
	if errors.Is(err, syscall.ESRCH) {
		return unseen, nil
	}
	if err != nil {
		return false, err
	}
	defer closeFD(pidfd)
	start, marked := c.marks.on(pid)
	if !marked {
		return unseen && ended(pidfd), nil
	}
	known := c.met[birth{pid, start}]
	c.met[birth{pid, start}] = true
	if !ended(pidfd) {
		kill(pidfd)
		c.alive = append(c.alive, pid)
		if !known {
			c.killed++
		}
	}
	return !known, nil
}

// processes lists all pids but those that are never signalled: the first and our
// own. The newest come first, as far as pids tell.
func processes() ([]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, name := range slices.Backward(names) { // /proc lists them in order
		if pid, err := strconv.Atoi(name); err == nil && pid > 1 && pid != os.Getpid() {
			list = append(list, pid)
		}
	}
	return list, nil
}

// named says which processes those are, for a person.
func named(pids []int) []string {
	var names []string
	for _, pid := range pids {
		comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err == nil {
			names = append(names, fmt.Sprintf("%s (%d)", strings.TrimSpace(string(comm)), pid))
		}
	}
	return names
}
