package client_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sidetask/rpc/client"
)

// A daemon that crashed under a keeper is started again, so that what it was to
// tell is told; one that ended in order stays away until it is needed.
func TestKeeperRevives(t *testing.T) {
	dir, a := starter(t, "serve")
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: filepath.Join(dir, "s"), Autostart: a}, Revive: true})
	k.Start()
	first, err := k.Client(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	crash(t, dir)
	within(t, first.Done(), "the end of the connection")
	second, err := k.Client(t.Context()) // nobody asked for it
	if err != nil {
		t.Fatal(err)
	}

	stop(t, dir)
	within(t, second.Done(), "the end of the connection")
	done := get(t, k)
	if starts, err := os.ReadFile(filepath.Join(dir, "starts")); err != nil || string(starts) != "start\nstart\n" {
		t.Errorf("started %q (%v), want twice", starts, err)
	}
	k.Start()
	if err := within(t, done, "Call"); err != nil {
		t.Error(err)
	}
	stop(t, dir)
}

// crash kills the fake daemon of dir and waits until it has ended.
func crash(t *testing.T, dir string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	var s state
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}
