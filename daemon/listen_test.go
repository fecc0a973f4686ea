package daemon

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidetask/paths"
)

// at is where a socket lies that the person has named.
func at(path string) paths.Paths { return paths.Paths{Runtime: "/no/such", Socket: path} }

// TestListenMode: the socket is 0600 (API.md, Socket), whatever the umask is.
func TestListenMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := makeSocket(at(path))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("mode %v, %v; want a socket of 0600", info.Mode(), err)
	}
}

// TestListenTakesADeadSocket: and leaves the file when it closes, since by then
// it may be a successor's.
func TestListenTakesADeadSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 2 {
		l, err := makeSocket(at(path))
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
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("file"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	live, err := net.Listen("unix", in("live"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if err := os.Symlink(in("live"), in("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(in("nowhere"), in("dangling")); err != nil {
		t.Fatal(err)
	}
	long := in(strings.Repeat("x", paths.MaxSocketBytes-len(dir)))
	for path, want := range map[string]string{
		in("file"):     "is in the way (it is no socket): move it away",
		in("dir"):      "is in the way (it is no socket): move it away",
		in("link"):     "is in the way (it is no socket): move it away",
		in("dangling"): "is in the way (it is no socket): move it away",
		in("live"):     "a daemon already listens on " + in("live"),
		long:           "has 108 bytes, at most 107 are possible: set SIDETASK_SOCKET or XDG_RUNTIME_DIR to a shorter one",
	} {
		before, _ := os.Lstat(path)
		l, err := makeSocket(at(path))
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
	if data, err := os.ReadFile(in("file")); string(data) != "precious" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// TestListenLeavesTheFolder: one that the person named keeps its mode.
func TestListenLeavesTheFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, fs.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	l, err := makeSocket(at(filepath.Join(dir, "s")))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(dir); err != nil || info.Mode() != fs.ModeDir|fs.ModeSticky|0o777 {
		t.Errorf("the folder has mode %v now, %v", info.Mode(), err)
	}
}

// TestListenAsksForTheFolder: one that is refused ends it.
func TestListenAsksForTheFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := makeSocket(at(filepath.Join(file, "s"))); err == nil || !strings.Contains(err.Error(), file+" is in the way (it is a file") {
		t.Errorf("got %v, %v", l, err)
	}
}
