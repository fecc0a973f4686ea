package server

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sidetask/config"
)

func TestMaxConnections(t *testing.T) {
	w := newWire(t, config.Limits{MaxConnections: 2}, deadMan)
	first, second := w.dial(), w.dial()
	first.send(call1("1"))
	first.want(ok("1"))
	second.send(call1("1"))
	second.want(ok("1"))
	third := w.dial()
	third.want(nullAnswer + `"error":{"code":-32003,"message":"too many connections (limit: 2); close one, or raise limits.maxConnections","data":{"kind":"limitReached"}}}`)
	third.wantEnd()
	_ = first.nc.Close()
	<-w.gone
	deadline := time.Now().Add(deadMan)
	for w.server.Connections() > 1 { // the count follows the end of the connection
		if time.Now().After(deadline) {
			t.Fatal("the place is not free again")
		}
	}
	fourth := w.dial()
	fourth.send(call1("4"))
	fourth.want(ok("4"))
}

func TestAdmits(t *testing.T) {
	for uid, want := range map[int]bool{os.Getuid(): true, 0: true, 65534: false, os.Getuid() + 1: false} {
		if got := admits(credentials{uid: uid}); got != want {
			t.Errorf("uid %d: %v, want %v", uid, got, want)
		}
	}
}

// TestOtherUser: a peer of another user is disconnected before a byte is read,
// even where the socket's mode would let it in.
func TestOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else; TestAdmits has the rule itself")
	}
	w := newWire(t, config.Limits{}, deadMan)
	for dir := filepath.Dir(w.path); dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 && os.Chmod(dir, info.Mode()|0o011) != nil {
			t.Fatalf("open %s: %v", dir, err)
		}
	}
	if err := os.Chmod(w.path, 0o666); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(filepath.Dir(w.path), "helper") // where the other user may run it
	if err := os.WriteFile(binary, program, 0o755); err != nil {
		t.Fatal(err)
	}
	helper := exec.Command(binary, "-test.run=^TestHelperPeer$")
	helper.Env = append(os.Environ(), "SERVER_TEST_SOCKET="+w.path)
	helper.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	helper.Dir = "/"
	out, err := helper.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "answered 0 bytes") {
		t.Errorf("the other user: %v\n%s", err, out)
	}
	if n := w.server.Accepted(); n != 0 {
		t.Errorf("%d connections let in", n)
	}
}

// TestHelperPeer is the other user of TestOtherUser.
func TestHelperPeer(t *testing.T) {
	path := os.Getenv("SERVER_TEST_SOCKET")
	if path == "" {
		return
	}
	nc, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(deadMan))
	_, _ = io.WriteString(nc, call1("1"))
	answer, _ := io.ReadAll(nc)
	fmt.Printf("answered %d bytes\n", len(answer))
}
