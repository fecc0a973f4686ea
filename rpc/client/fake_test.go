package client_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// state is what the fake daemon tells of itself, for the test to look at.
type state struct {
	PID, Parent, Session, Group int
	Dir                         string
	Fds                         []string
	Env                         []string
	Ignored                     string // SigIgn of /proc/self/status
}

// fakeDaemon is the program behind the autostart: as mode says, it listens in
// dir under a lock and ends after one connection has closed, or fails, or serves
// from its second start on only.
func fakeDaemon(mode, dir string) {
	pipe := client.ReportPipe()
	switch mode {
	case "bad":
		client.Report{Error: dir + "/config.toml:1:1: nonsense", Hint: "mend it", Status: rpc.ExitConfig}.Write(pipe)
		return
	case "mute":
		return
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return
	}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		client.Report{Error: "another daemon has the lock", Status: rpc.ExitBusy, Socket: filepath.Join(dir, "s"), PID: 4711}.Write(pipe)
		return
	}
	// One line for each daemon that got the lock: the test counts them.
	starts, _ := os.OpenFile(filepath.Join(dir, "starts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	_, _ = starts.WriteString("start\n")
	_ = starts.Close()
	if told, _ := os.ReadFile(filepath.Join(dir, "starts")); mode == "leaves" && string(told) == "start\n" {
		client.Report{Ready: true, Socket: filepath.Join(dir, "s")}.Write(pipe) // and nobody is there any more
		return
	}
	raw, _ := json.Marshal(look())
	_ = os.WriteFile(filepath.Join(dir, "state"), raw, 0o600)
	_ = os.Remove(filepath.Join(dir, "s")) // of one that crashed; the lock is ours
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		return
	}
	report := client.Report{Ready: true, Socket: filepath.Join(dir, "s")}
	if mode == "late" { // it stands for a daemon that found this listener in its place
		report = client.Report{Error: "a daemon already listens", Status: rpc.ExitUnavailable}
	}
	report.Write(pipe)
	serveUntilTold(l, filepath.Join(dir, "stop"))
}

// serveUntilTold answers initialize on all connections until somebody opens
// the fifo stop for writing.
func serveUntilTold(l net.Listener, stop string) {
	go func() {
		f, err := os.OpenFile(stop, os.O_RDONLY, 0)
		if err == nil {
			_ = f.Close()
		}
		_ = l.Close()
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			decoder := json.NewDecoder(conn)
			for {
				var m message
				if decoder.Decode(&m) != nil {
					return
				}
				_, _ = conn.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"protocolVersion":1,"server":{"name":"fake","version":"v0.0.1"}}}` + "\n"))
			}
		}()
	}
}

func look() state {
	s := state{PID: os.Getpid(), Parent: os.Getppid(), Env: os.Environ()}
	s.Session, _ = unix.Getsid(0)
	s.Group = syscall.Getpgrp()
	s.Dir, _ = os.Getwd()
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") { // of Go's runtime
			s.Fds = append(s.Fds, e.Name()+" "+target)
		}
	}
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "SigIgn:"); ok {
			s.Ignored = strings.TrimSpace(rest)
		}
	}
	return s
}

// starter makes a folder for a fake daemon and the way to start it.
func starter(t *testing.T, mode string) (dir string, a *client.Autostart) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = shortDir(t)
	if err := unix.Mkfifo(filepath.Join(dir, "stop"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, &client.Autostart{Executable: exe, Args: []string{"detach", "daemon", mode, dir}}
}

// stop ends the fake daemon of dir and waits until its socket is gone.
func stop(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "stop"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil { // until it has ended
		t.Fatal(err)
	}
}
