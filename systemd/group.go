package systemd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// daemonLeaf is the group below the service's own into which the daemon and
	// its keepers go: a group with processes of its own could not be divided
	// further by whoever looks after it.
	daemonLeaf = "daemon"
	// groupPrefix begins the name of each command's group.
	groupPrefix = "task-"
)

// Groups makes a control group (cgroups(7), version 2) for each command, below
// the one that the service manager delegated to this service. No controller is
// enabled in it: killing everything and counting CPU time need none, and with one a
// restart fails before systemd 254 while commands still live here. Whoever has a command born into
// its group reads, kills and removes it; what was left is removed at the next start.
type Groups struct {
	root string // the folder of the service's own group
	path string // the same as the kernel names it, from the mount on
}

// OpenGroups moves this process into a leaf of the service's group and removes
// the empty groups of earlier runs. An error says why there are no groups to
// be had; everything works without.
func (s *Service) OpenGroups() (*Groups, error) {
	if !s.Supervised() {
		return nil, errors.New("no control groups: this daemon was not started as a service")
	}
	return openGroups("/proc/self/cgroup", "/sys/fs/cgroup")
}

func openGroups(self, mount string) (*Groups, error) {
	text, err := os.ReadFile(self)
	if err != nil {
		return nil, fmt.Errorf("no control groups: %w", err)
	}
	path, err := unified(string(text))
	if err != nil {
		return nil, err
	}
	if filepath.Base(path) == daemonLeaf { // this process replaced one that had moved
		path = filepath.Dir(path)
	}
	if filepath.Ext(path) != ".service" {
		return nil, fmt.Errorf("no control groups: %s is not the group of a service", path)
	}
	g := &Groups{path: path}
	for _, root := range []string{filepath.Join(mount, path), filepath.Join(mount, "unified", path)} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err == nil {
			g.root = root
			break
		}
	}
	if g.root == "" {
		return nil, fmt.Errorf("no control groups: %s is not to be found below %s (version 2 is needed)", path, mount)
	}
	leaf, err := g.make(daemonLeaf)
	if err != nil {
		return nil, fmt.Errorf("no control groups: %w (the unit needs Delegate=yes)", err)
	}
	if _, err := os.Stat(filepath.Join(leaf, "cgroup.kill")); err != nil {
		return nil, fmt.Errorf("no control groups: %w (Linux 5.14 is needed)", err)
	}
	if err := write(leaf, "cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
		return nil, fmt.Errorf("no control groups: move into %s: %w", leaf, err)
	}
	return g, g.sweep()
}

// unified finds the version 2 group in the text of /proc/<pid>/cgroup.
func unified(text string) (string, error) {
	for line := range strings.Lines(text) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path, nil
		}
	}
	return "", errors.New("no control groups: this process has none of version 2")
}

// sweep removes the groups that nobody lives in any more.
func (g *Groups) sweep() error {
	dirs, err := filepath.Glob(filepath.Join(g.root, groupPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := removeEmpty(dir); err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty removes a group in which nobody lives, and the empty ones that a
// command made below it. One that is gone, or lived in, is no error.
func removeEmpty(dir string) error {
	below, err := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, procs := range below {
		if err := removeEmpty(filepath.Dir(procs)); err != nil {
			return err
		}
	}
	err = syscall.Rmdir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("remove control group %s: %w", dir, err)
	}
	return nil
}

// make creates the group of that name, or finds it.
func (g *Groups) make(name string) (string, error) {
	dir := filepath.Join(g.root, name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
}

// write changes one of the files of a group.
func write(dir, file, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
