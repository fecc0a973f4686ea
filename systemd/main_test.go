package systemd

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sidetask/scripts/leaks"
)

// roleVariable makes this test binary one of the processes below.
const roleVariable = "SYSTEMD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		leaks.Main(m)
	case "service":
		service()
	case "exec":
		handOver()
	default:
		fmt.Fprintln(os.Stderr, "no such role:", role)
		os.Exit(2)
	}
}

// report is what the service process tells of itself.
type report struct {
	PID        int
	Supervised bool
	Watchdog   int64
	Listeners  map[string]int
	Env        []string // of a child
	FDs        []string // of a child
	Error      string
}

// service takes what it was given, reports on it, and answers one connection
// on its listener.
func service() {
	s, err := Take()
	r := report{PID: os.Getpid(), Supervised: s.Supervised(), Watchdog: s.watchdogInterval().Microseconds(), Listeners: map[string]int{}}
	if err != nil {
		r.Error = err.Error()
	}
	for name, list := range s.listeners {
		r.Listeners[name] = len(list)
	}
	out, err := exec.Command("sh", "-c", "env; echo --; ls /proc/$$/fd; :").Output()
	if err != nil {
		fatal(err)
	}
	env, fds, _ := strings.Cut(string(out), "--\n")
	r.Env, r.FDs = strings.Split(strings.TrimSpace(env), "\n"), strings.Fields(fds)
	if err := s.Ready("up"); err != nil {
		fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		fatal(err)
	}
	for _, listener := range s.Listeners(ListenerName) {
		conn, err := listener.Accept()
		if err != nil {
			fatal(err)
		}
		fmt.Fprintf(conn, "hello from %d\n", os.Getpid())
		conn.Close()
		listener.Close()
	}
	os.Exit(0)
}

// handOver takes, or makes, a listener and replaces itself by a service.
func handOver() {
	s, err := Take()
	if err != nil {
		fatal(err)
	}
	var listener net.Listener
	if list := s.Listeners(ListenerName); len(list) > 0 {
		listener = list[0]
	} else if listener, err = net.Listen("unix", os.Getenv("SYSTEMD_TEST_SOCKET")); err != nil {
		fatal(err)
	}
	file, err := listener.(*net.UnixListener).File()
	if err != nil {
		fatal(err)
	}
	keep := map[string]*os.File{ListenerName: file}
	if err := s.Exec("/nonexistent/program", []string{"x"}, os.Environ(), keep); err == nil {
		fatal(fmt.Errorf("Exec of nothing worked"))
	}
	environ := append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, roleVariable+"=") }), roleVariable+"=service")
	fatal(s.Exec(os.Args[0], os.Args, environ, keep))
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// process is a command that runs this binary in a role, as systemd would: with
// the files from descriptor 3 on and the pid in the variables, where $$ stands.
func process(t *testing.T, role string, files []*os.File, environ ...string) *exec.Cmd {
	t.Helper()
	script := ""
	clean := scrub(os.Environ())
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); value == "$$" {
			script += "export " + name + "=$$; "
		} else {
			clean = append(clean, entry)
		}
	}
	cmd := exec.Command("sh", "-c", script+`exec "$0"`, os.Args[0])
	cmd.Env = append(clean, roleVariable+"="+role)
	cmd.ExtraFiles = files
	cmd.Stderr = os.Stderr
	return cmd
}

// run starts the process and gives its report; it ends before the test does.
func run(t *testing.T, cmd *exec.Cmd) report {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL) // it may have ended: then there is nothing to do
		_ = cmd.Wait()
	})
	var r report
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatalf("no report from the process: %v", err)
	}
	return r
}

// listen makes a socket and gives its path and its file, as the manager has it.
func listen(t *testing.T) (string, *os.File) {
	t.Helper()
	path := filepath.Join(shortDir(t), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	file, err := listener.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return path, file
}

// shortDir is a folder whose name leaves room in a socket's path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
