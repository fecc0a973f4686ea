package systemd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// cgroupRoot mounts a version 2 hierarchy of its own and makes a service's group in
// it, which goes with the test.
func cgroupRoot(t *testing.T) (mount, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting cgroup2 needs root; scripts/test-systemd shows the same as a user")
	}
	mount = shortDir(t)
	if err := syscall.Mount("none", mount, "cgroup2", 0, ""); err != nil {
		t.Skipf("mounting cgroup2 is not possible here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	path = fmt.Sprintf("/sidetask-test-%d.service", os.Getpid())
	if err := os.Mkdir(filepath.Join(mount, path), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeEmpty(filepath.Join(mount, path)); err != nil {
			t.Error(err)
		}
	})
	return mount, path
}

// inGroup starts a shell command in the group, and waits for its first line.
func inGroup(t *testing.T, dir, script string) *exec.Cmd {
	t.Helper()
	group, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	cmd := exec.Command("sh", "-c", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("first line %q: %v", line, err)
	}
	return cmd
}

// killGroup ends everything in a group.
func killGroup(t *testing.T, dir string) {
	t.Helper()
	if err := write(dir, "cgroup.kill", "1"); err != nil {
		t.Fatal(err)
	}
}

// procs counts the processes of a group.
func procs(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// A group of its own for a command: nothing outlives a kill, time is counted, and a later
// daemon finds it, or removes it when it is empty.
func TestGroups(t *testing.T) {
	mount, path := cgroupRoot(t)
	self := filepath.Join(t.TempDir(), "cgroup")
	if err := os.WriteFile(self, []byte("1:name=x:/y\n0::"+path+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	back, err := unified(string(home))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := write(filepath.Join(mount, back), "cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
			t.Error(err)
		}
	}()
	stale := filepath.Join(mount, path, groupPrefix+"t3")
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	g, err := openGroups(self, mount)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty group of an earlier run is still there: %v", err)
	}
	if now, err := os.ReadFile("/proc/self/cgroup"); err != nil || !strings.Contains(string(now), "0::"+path+"/daemon\n") {
		t.Errorf("the daemon is in %q, %v", now, err)
	}
	dir, done, err := g.Open(context.Background(), "t7", Limits{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := inGroup(t, dir, `setsid sh -c 'trap "" TERM HUP; sleep 600' & (setsid sleep 600 &) ; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo; exec sleep 600`)
	done()
	if n := procs(t, dir); n < 3 {
		t.Errorf("%d processes in the group, want at least 3", n)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err != nil || !regexp.MustCompile(`(?m)^usage_usec [1-9]`).Match(text) {
		t.Errorf("no time is counted: %s, %v", text, err)
	}
	if err := g.sweep(); err != nil {
		t.Errorf("sweep with a live group: %v", err)
	}
	if n := procs(t, dir); n < 3 {
		t.Errorf("%d processes in the group after a sweep", n)
	}
	killGroup(t, dir)
	if err := cmd.Wait(); err == nil {
		t.Error("the command was not killed")
	}
	awaitEmpty(t, dir)
	if err := os.Mkdir(filepath.Join(dir, "own"), 0o755); err != nil { // as a container would
		t.Fatal(err)
	}
	if err := removeEmpty(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty group is not removed: %v", err)
	}
	if err := removeEmpty(dir); err != nil {
		t.Errorf("a group that is gone: %v", err)
	}
	// The daemon replaced by its successor, in the leaf already.
	if err := os.WriteFile(self, []byte("0::"+path+"/daemon\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := openGroups(self, mount); err != nil || again.root != g.root {
		t.Errorf("from the leaf: %+v, %v; want %+v", again, err, g)
	}
}

// awaitEmpty waits until the kernel has said that nobody lives in the group.
func awaitEmpty(t *testing.T, dir string) {
	t.Helper()
	events, err := os.Open(filepath.Join(dir, "cgroup.events"))
	if errors.Is(err, fs.ErrNotExist) {
		return // the manager was faster and removed it
	}
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	text := make([]byte, 4096)
	for {
		// What has been read counts as known: a change after it ends the poll.
		n, err := events.ReadAt(text, 0)
		if errors.Is(err, unix.ENODEV) {
			return // the manager was faster and removed it
		}
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if strings.Contains(string(text[:n]), "populated 0") {
			return
		}
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(events.Fd()), Events: unix.POLLPRI}}, int(deadMan.Milliseconds())); err != nil || n == 0 {
			t.Fatalf("nothing changed in %s: %v", events.Name(), err)
		}
	}
}

func TestNoGroups(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"1:name=x:/y\n":                     "none of version 2",
		"0::/user.slice/session-1.scope\n":  "is not the group of a service",
		"0::/user.slice/nowhere.service\n":  "is not to be found below",
		"0::/user.slice/x.service/daemon\n": "is not to be found below",
	} {
		self := filepath.Join(dir, "cgroup")
		if err := os.WriteFile(self, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openGroups(self, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q: error %v, want one with %q", text, err, want)
		}
	}
	if _, err := (&Service{}).OpenGroups(); err == nil {
		t.Error("groups without a service")
	}
}
