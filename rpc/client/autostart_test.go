package client_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// CLI.md: forked twice, own session, fds 0-2 reopened, nothing inherited, no
// descendant of its starter.
func TestAutostartDetaches(t *testing.T) {
	dir, a := starter(t, "serve")
	t.Setenv("SIDETASK_TASK", "bash-1")
	t.Setenv("SIDETASK_TOKEN", "secret")
	t.Setenv("AWS_SECRET", "secret")
	t.Setenv("SIDETASK_CONFIG", "config.toml") // relative: the daemon is elsewhere
	t.Setenv("SIDETASK_SOCKET", "s")
	// A descriptor that leaks into children, as a shell's 3>&1 makes it.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	leak, err := unix.FcntlInt(w.Fd(), unix.F_DUPFD, 50)
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()

	c, err := client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	_ = unix.Close(leak)
	defer stop(t, dir)
	var s state
	raw, err := os.ReadFile(filepath.Join(dir, "state"))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	ours, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if s.Session == ours || s.Session == s.PID {
		t.Errorf("session %d of pid %d (ours is %d): want another one, and not to lead it", s.Session, s.PID, ours)
	}
	if s.Parent == os.Getpid() {
		t.Error("the daemon is our child")
	}
	if s.Dir != "/" {
		t.Errorf("it is in %s, want /", s.Dir)
	}
	if strings.Trim(s.Ignored, "0") != "" {
		t.Errorf("it ignores signals: %s", s.Ignored)
	}
	for i, fd := range s.Fds {
		if i < 3 && !strings.HasSuffix(fd, " /dev/null") || strings.HasPrefix(fd, "50 ") {
			t.Errorf("descriptor %s", fd)
		}
	}
	// Our leaked pipe has no other end any more: $(...) around us would return.
	if n, err := r.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the pipe is still held: %d, %v", n, err)
	}
	config, err := filepath.Abs("config.toml")
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Join(s.Env, "\n")
	if strings.Contains(env, "secret") || strings.Contains(env, "SIDETASK_TASK") ||
		!slices.Contains(s.Env, "SIDETASK_CONFIG="+config) || !slices.Contains(s.Env, "SIDETASK_SOCKET="+filepath.Join(dir, "s")) {
		t.Errorf("environment of the daemon:\n%s", env)
	}
}

// Twenty at once leave one: the lock decides, and losers use the winner.
func TestAutostartOnce(t *testing.T) {
	dir, a := starter(t, "serve")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c, err := client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
			if err != nil {
				t.Error(err)
				return
			}
			_ = c.Close()
		})
	}
	all.Wait()
	stop(t, dir)
	starts, err := os.ReadFile(filepath.Join(dir, "starts"))
	if err != nil || string(starts) != "start\n" {
		t.Errorf("daemons that served: %q (%v), want one", starts, err)
	}
}

// A daemon that has ended again before its starter came, since it had served
// others, is followed by the next one.
func TestAutostartAgain(t *testing.T) {
	dir, a := starter(t, "leaves")
	c, err := client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	stop(t, dir)
}

// A daemon that finds the service manager's new socket in its place ends; whoever
// started it is served by the other.
func TestAutostartLate(t *testing.T) {
	dir, a := starter(t, "late")
	c, err := client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	stop(t, dir)
}

func TestAutostartFails(t *testing.T) {
	for _, test := range []struct {
		mode, want, hint string
		status           int
	}{
		{"bad", "config.toml:1:1: nonsense", "mend it", rpc.ExitConfig},
		{"mute", "ended without a word", "", rpc.ExitUnavailable},
	} {
		t.Run(test.mode, func(t *testing.T) {
			dir, a := starter(t, test.mode)
			_, err := client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
			var start *client.StartError
			if !errors.As(err, &start) || !strings.Contains(err.Error(), test.want) || start.Status != test.status || start.Hint() != test.hint {
				t.Errorf("Dial = %#v, want %q with status %d", err, test.want, test.status)
			}
		})
	}
	t.Run("no program", func(t *testing.T) {
		dir := shortDir(t)
		a := &client.Autostart{Executable: filepath.Join(dir, "gone")}
		_, err := client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
		var start *client.StartError
		if !errors.As(err, &start) || start.Status != rpc.ExitUnavailable {
			t.Errorf("Dial = %v, want a StartError", err)
		}
	})
}

// A daemon with this state but another socket: no use to wait for ours.
func TestAutostartOtherSocket(t *testing.T) {
	dir, a := starter(t, "serve")
	c, err := client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	defer stop(t, dir)
	_, err = client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "other"), Autostart: a})
	var start *client.StartError
	if !errors.As(err, &start) || start.Hint() != "set SIDETASK_SOCKET="+filepath.Join(dir, "s") {
		t.Errorf("Dial = %v, want to hear where the first daemon listens", err)
	}
}

// A daemon that holds the lock and is not to be heard (its socket was removed, or
// it hangs) is named, soon.
func TestAutostartUnheard(t *testing.T) {
	t.Parallel() // it takes some seconds of waiting
	dir, a := starter(t, "serve")
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = client.Dial(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Autostart: a})
	var start *client.StartError
	if !errors.As(err, &start) || start.Error() != "another daemon has the lock" || !strings.Contains(start.Hint(), "`kill -9 4711`") {
		t.Errorf("Dial = %v, want to hear who is in the way", err)
	}
}

// From inside a task whose keeper cannot start a daemon none is started, since the
// end of the task would end it; one of another world (a test run by a task) is.
// What a keeper starts is tested in the rooms daemon and cmd/sidetask-keeper.
func TestAutostartInsideATask(t *testing.T) {
	dir, a := starter(t, "serve")
	socket := filepath.Join(dir, "s")
	t.Setenv("SIDETASK_TASK", "7")
	t.Setenv("SIDETASK_SOCKET", socket)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	refuses := func(why string) {
		t.Helper()
		_, err := client.Dial(t.Context(), client.Options{Socket: socket, Autostart: a})
		var hinted interface{ Hint() string }
		if !errors.Is(err, client.ErrNoDaemon) || !errors.As(err, &hinted) ||
			!strings.Contains(hinted.Hint(), why) || !strings.Contains(hinted.Hint(), "run `sidetask status` outside") {
			t.Errorf("Dial = %v, want no daemon, since %s, and what to do", err, why)
		}
	}
	refuses("no such file")

	// A keeper of a version that could not.
	control := filepath.Join(dir, "sidetask", "k")
	if err := os.MkdirAll(control, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(control, "7"))
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = bufio.NewReader(conn).ReadString('\n')
			_, _ = conn.Write([]byte(`error="this keeper does not know \"beside\""` + "\n"))
			_ = conn.Close()
		}
		answered <- err
	}()
	refuses(`does not know "beside"`)
	_ = l.Close()
	if err := <-answered; err != nil {
		t.Fatal(err)
	}

	t.Setenv("SIDETASK_SOCKET", "/run/other.sock")
	c, err := client.Dial(t.Context(), client.Options{Socket: socket, Autostart: a})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	stop(t, dir)
}

// A keeper starts a daemon when it is asked to, and not before.
func TestKeeperStart(t *testing.T) {
	dir, a := starter(t, "serve")
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: filepath.Join(dir, "s"), Autostart: a}})
	done := get(t, k)
	select {
	case err := <-done:
		t.Fatalf("Call = %v without a daemon", err)
	default:
	}
	k.Start()
	if err := within(t, done, "Call"); err != nil {
		t.Error(err)
	}
	stop(t, dir)
}

func TestKeeperStartFails(t *testing.T) {
	dir, a := starter(t, "bad")
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: filepath.Join(dir, "s"), Autostart: a}})
	done := get(t, k)
	k.Start()
	var start *client.StartError
	if err := within(t, done, "Call"); !errors.As(err, &start) || start.Status != rpc.ExitConfig {
		t.Errorf("Call = %v, want the StartError", err)
	}
}
