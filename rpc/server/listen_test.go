package server

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func private(string) error { return nil }

// TestListenMode: the socket is 0600 (API.md, Socket), whatever the umask was,
// and the umask is as it was.
func TestListenMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := Listen(path, private)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %v, %v; want a socket of 0600", info.Mode(), err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(file); info.Mode().Perm()&0o400 == 0 || info.Mode().Perm() == 0o600 {
		t.Errorf("a file made afterwards has mode %v: the umask has not been put back", info.Mode())
	}
}

// TestListenTakesADeadSocket: and leaves the file when it closes, since by then
// it may be a successor's.
func TestListenTakesADeadSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 2 {
		l, err := Listen(path, private)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, err := os.Lstat(path); err != nil {
			t.Fatalf("the socket file is gone: %v", err)
		}
	}
}

// TestListenRefuses: what is in the way stays, and the message says what to do.
func TestListenRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	live, err := net.Listen("unix", at("live"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if err := os.Symlink(at("live"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("nowhere"), at("dangling")); err != nil {
		t.Fatal(err)
	}
	long := at(strings.Repeat("x", maxSocketPath-len(dir)))
	for path, want := range map[string]string{
		at("file"):     "is in the way (it is no socket): move it away",
		at("dir"):      "is in the way (it is no socket): move it away",
		at("link"):     "is in the way (it is no socket): move it away",
		at("dangling"): "is in the way (it is no socket): move it away",
		at("live"):     "a daemon already listens on " + at("live"),
		long:           "has 108 bytes, at most 107 are possible: set SIDETASK_SOCKET or XDG_RUNTIME_DIR to a shorter one",
	} {
		before, _ := os.Lstat(path)
		l, err := Listen(path, private)
		if err == nil {
			l.Close()
			t.Errorf("%s: no error", path)
			continue
		}
		if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("got  %v\nwant %s, with the path", err, want)
		}
		if after, _ := os.Lstat(path); (before == nil) != (after == nil) || before != nil && !os.SameFile(before, after) {
			t.Errorf("%s is not what it was", path)
		}
	}
	if data, err := os.ReadFile(at("file")); string(data) != "precious" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// TestListenAsksForThePrivateFolder: a folder that is refused ends it.
func TestListenAsksForThePrivateFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "s")
	refused := errors.New("belongs to somebody else")
	var asked string
	_, err := Listen(path, func(dir string) error { asked = dir; return refused })
	if !errors.Is(err, refused) || asked != filepath.Dir(path) {
		t.Errorf("asked for %q, got %v", asked, err)
	}
}
