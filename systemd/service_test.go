package systemd

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// private are the variables that never reach a task (ENGINEERING, systemd).
var private = []string{"NOTIFY_SOCKET", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", keptVariable}

func checkChild(t *testing.T, r report) {
	t.Helper()
	for _, entry := range r.Env {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(private, name) {
			t.Errorf("a child of the service has %s", entry)
		}
	}
	if want := []string{"0", "1", "2"}; !cmp.Equal(r.FDs, want) {
		t.Errorf("a child of the service has descriptors %v, want %v", r.FDs, want)
	}
}

func hello(t *testing.T, path string) string {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// The socket unit's descriptors arrive by name, and neither they nor the
// variables go on to a child.
func TestActivation(t *testing.T) {
	path, file := listen(t)
	_, other := listen(t)
	notify, _ := notifySocket(t)
	r := run(t, process(t, "service", []*os.File{other, file},
		"LISTEN_PID=$$", "LISTEN_FDS=2", "LISTEN_FDNAMES=other:rpc", "SYSTEMD_EXEC_PID=$$",
		"NOTIFY_SOCKET="+notify, "WATCHDOG_PID=$$", "WATCHDOG_USEC=30000000", "INVOCATION_ID=0123", "JOURNAL_STREAM=1:2"))
	if r.Error != "" {
		t.Errorf("Take: %s", r.Error)
	}
	if want := map[string]int{"other": 1, "rpc": 1}; !cmp.Equal(r.Listeners, want) {
		t.Errorf("listeners %v, want %v", r.Listeners, want)
	}
	if !r.Supervised || r.Watchdog != 30000000 {
		t.Errorf("supervised %t, watchdog %d µs; want true, 30000000", r.Supervised, r.Watchdog)
	}
	checkChild(t, r)
	if got, want := hello(t, path), fmt.Sprintf("hello from %d", r.PID); got != want {
		t.Errorf("through the socket: %q, want %q", got, want)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("closing an inherited listener took its path away: %v", err)
	}
}

// What a terminal or an editor that is itself a service passes on by mistake is
// not taken for our own.
func TestInheritedVariablesAreNotOurs(t *testing.T) {
	_, file := listen(t)
	notify, messages := notifySocket(t)
	r := run(t, process(t, "service", []*os.File{file},
		"LISTEN_PID=1", "LISTEN_FDS=1", "LISTEN_FDNAMES=rpc", "SYSTEMD_EXEC_PID=1",
		"NOTIFY_SOCKET="+notify, "WATCHDOG_PID=1", "WATCHDOG_USEC=30000000", "INVOCATION_ID=0123"))
	if r.Supervised || r.Watchdog != 0 || len(r.Listeners) != 0 {
		t.Errorf("supervised %t, watchdog %d, listeners %v; want nothing of it", r.Supervised, r.Watchdog, r.Listeners)
	}
	for _, entry := range r.Env {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(private, name) {
			t.Errorf("a child has %s", entry)
		}
	}
	// Its Ready was sent before its report, so it would be here.
	if got, ok := messages.queued(t); ok {
		t.Errorf("it notified somebody else's manager: %q", got)
	}
}

func TestWithoutManager(t *testing.T) {
	r := run(t, process(t, "service", nil))
	if r.Supervised || r.Watchdog != 0 || len(r.Listeners) != 0 || r.Error != "" {
		t.Errorf("without a manager: %+v", r)
	}
	checkChild(t, r)
	var s *Service
	if s.Supervised() || s.Journal() || s.Listeners("rpc") != nil || s.watchdogInterval() != 0 {
		t.Error("the nil Service has something")
	}
	if err := s.Ready("up"); err != nil {
		t.Error(err)
	}
}

func TestMalformed(t *testing.T) {
	notify, _ := notifySocket(t)
	r := run(t, process(t, "service", nil, "SYSTEMD_EXEC_PID=$$", "NOTIFY_SOCKET="+notify, "WATCHDOG_USEC=soon", "JOURNAL_STREAM=here", keptVariable+"=rpc:one"))
	for _, want := range []string{"WATCHDOG_USEC", "JOURNAL_STREAM", `"rpc:one" is no descriptor`} {
		if !strings.Contains(r.Error, want) {
			t.Errorf("error %q does not tell of %s", r.Error, want)
		}
	}
	if !r.Supervised {
		t.Error("not usable after an error")
	}
	checkChild(t, r)
}

// A descriptor that is no listener, from a descriptor store for example, is closed.
func TestNoListener(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := run(t, process(t, "service", []*os.File{w}, "LISTEN_PID=$$", "LISTEN_FDS=1", "LISTEN_FDNAMES=rpc"))
	w.Close()
	if !strings.Contains(got.Error, `inherited descriptor "rpc"`) || len(got.Listeners) != 0 {
		t.Errorf("a pipe as listener: %+v", got)
	}
	checkChild(t, got)
}

// A program that replaces itself keeps pid, manager and listener; an attempt that
// fails changes nothing.
func TestExec(t *testing.T) {
	path, file := listen(t)
	notify, messages := notifySocket(t)
	cmd := process(t, "exec", []*os.File{file}, "LISTEN_PID=$$", "LISTEN_FDS=1", "LISTEN_FDNAMES=rpc",
		"SYSTEMD_EXEC_PID=$$", "NOTIFY_SOCKET="+notify, "WATCHDOG_PID=$$", "WATCHDOG_USEC=5000000")
	r := run(t, cmd)
	if r.PID != cmd.Process.Pid {
		t.Errorf("pid %d after Exec, was %d", r.PID, cmd.Process.Pid)
	}
	if r.Error != "" || !r.Supervised || r.Watchdog != 5000000 || r.Listeners["rpc"] != 1 {
		t.Errorf("after Exec: %+v", r)
	}
	checkChild(t, r)
	if got, want := messages.next(t), "READY=1\nSTATUS=up"; got != want {
		t.Errorf("notified %q, want %q", got, want)
	}
	if got, want := hello(t, path), fmt.Sprintf("hello from %d", r.PID); got != want {
		t.Errorf("through the socket: %q, want %q", got, want)
	}
}

// The same without a manager: the daemon that a client started.
func TestExecUnsupervised(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	r := run(t, process(t, "exec", nil, "SYSTEMD_TEST_SOCKET="+path))
	if r.Error != "" || r.Supervised || r.Listeners["rpc"] != 1 {
		t.Errorf("after Exec: %+v", r)
	}
	checkChild(t, r)
	if got, want := hello(t, path), fmt.Sprintf("hello from %d", r.PID); got != want {
		t.Errorf("through the socket: %q, want %q", got, want)
	}
}

func TestScrub(t *testing.T) {
	given := []string{"PATH=/bin", "NOTIFY_SOCKET=/x", "LISTENER=kept", "LISTEN_FDS=1", "WATCHDOG_USEC=1", "INVOCATION_ID=1", "JOURNAL_STREAM=1:1", "MEMORY_PRESSURE_WATCH=/x", "XDG_RUNTIME_DIR=/r", "DBUS_SESSION_BUS_ADDRESS=unix:path=/r/bus"}
	want := []string{"PATH=/bin", "LISTENER=kept", "XDG_RUNTIME_DIR=/r", "DBUS_SESSION_BUS_ADDRESS=unix:path=/r/bus"}
	if got := scrub(given); !cmp.Equal(got, want) {
		t.Errorf("scrub(%q) = %q, want %q", given, got, want)
	}
	if given[1] != "NOTIFY_SOCKET=/x" {
		t.Error("scrub changed what it was given")
	}
}
