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
	"time"
)

// Usage is what the kernel knows of a command's group.
type Usage struct {
	CPU         time.Duration // user and system, of all that ever lived in it
	MemoryPeak  int64         // bytes; 0 = not known: only with a memory limit, from Linux 5.19
	OutOfMemory bool          // something in it was killed by its memory limit
	Populated   bool          // something lives in it or below
}

// GroupUsage reads the counters of a group. The error is [fs.ErrNotExist] when
// the group is gone.
func GroupUsage(dir string) (Usage, error) {
	var u Usage
	events, err := counters(dir, "cgroup.events")
	if err != nil {
		return u, fmt.Errorf("read control group: %w", err)
	}
	u.Populated = events["populated"] != 0
	stat, err := counters(dir, "cpu.stat")
	if err != nil {
		return u, fmt.Errorf("read control group: %w", err)
	}
	u.CPU = time.Duration(stat["usage_usec"]) * time.Microsecond
	// These two only exist where the memory controller counts for this group.
	if memory, err := counters(dir, "memory.events"); err == nil {
		u.OutOfMemory = memory["oom_kill"] > 0
	}
	if peak, err := os.ReadFile(filepath.Join(dir, "memory.peak")); err == nil {
		u.MemoryPeak, _ = strconv.ParseInt(strings.TrimSpace(string(peak)), 10, 64) // 0 = not known
	}
	return u, nil
}

// KillGroup ends everything in a group at once, whatever sessions and process
// groups it made. A group that is gone has nothing to end.
func KillGroup(dir string) error {
	if err := write(dir, "cgroup.kill", "1"); err != nil && !gone(err) {
		return fmt.Errorf("kill control group: %w", err)
	}
	return nil
}

// RemoveGroup removes an empty group and the empty ones that a command made
// below it. One that is gone, or that systemd removes itself, is no error.
func RemoveGroup(dir string) error {
	below, err := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, procs := range below {
		if err := RemoveGroup(filepath.Dir(procs)); err != nil {
			return err
		}
	}
	if err := syscall.Rmdir(dir); err != nil && !gone(err) {
		return fmt.Errorf("remove control group %s: %w", dir, err)
	}
	return nil
}

// gone says that an error means that the group is not there any more.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV)
}

// counters reads a file of lines "name number".
func counters(dir, file string) (map[string]int64, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	values := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		value, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			continue // a later kernel's word, not one of those read here
		}
		values[name] = value
	}
	return values, nil
}
