package systemd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// deadMan ends a test that would wait for ever.
const deadMan = 30 * time.Second

// inbox is the manager's end of a notification socket.
type inbox struct{ *net.UnixConn }

func notifySocket(t *testing.T) (string, inbox) {
	t.Helper()
	path := filepath.Join(shortDir(t), "n")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return path, inbox{conn}
}

// next waits for one datagram.
func (b inbox) next(t *testing.T) string {
	t.Helper()
	return b.read(t, deadMan)
}

// queued gives a datagram that has come already.
func (b inbox) queued(t *testing.T) (string, bool) {
	t.Helper()
	raw, err := b.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	buf := make([]byte, 4096)
	if err := raw.Read(func(fd uintptr) bool {
		n = recvNow(fd, buf)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return string(buf[:max(n, 0)]), n >= 0
}

func (b inbox) read(t *testing.T, limit time.Duration) string {
	t.Helper()
	if err := b.SetReadDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := b.Read(buf)
	if err != nil {
		t.Fatalf("no datagram: %v", err)
	}
	return string(buf[:n])
}

func TestNotify(t *testing.T) {
	path, messages := notifySocket(t)
	s := &Service{notify: path}
	for _, c := range []struct {
		name string
		send func() error
		want string
	}{
		{"ready", func() error { return s.Ready("2 tasks, 1 owner") }, `READY=1\nSTATUS=2 tasks, 1 owner`},
		{"ready without a status", func() error { return s.Ready("") }, `READY=1`},
		// In one datagram, or systemd waits for ever (FIELD, systemd).
		{"reloading", s.Reloading, `RELOADING=1\nMONOTONIC_USEC=[1-9][0-9]*`},
		{"status", func() error { return s.Status("busy") }, `STATUS=busy`},
		{"a status of several lines is one", func() error { return s.Status("a\nREADY=1\x00b\xff") }, "STATUS=a READY=1 b\uFFFD"},
		{"a long status", func() error { return s.Status(strings.Repeat("é", 300)) }, "STATUS=(é){126}…"},
		{"stopping", func() error { return s.Stopping("3 tasks end") }, `STOPPING=1\nSTATUS=3 tasks end`},
		{"extend", func() error { return s.extend(1500 * time.Millisecond) }, `EXTEND_TIMEOUT_USEC=1500000`},
		{"watchdog", s.alive, `WATCHDOG=1`},
	} {
		if err := c.send(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := messages.next(t); !regexp.MustCompile(`^` + c.want + `$`).MatchString(got) {
			t.Errorf("%s: sent %q, want %q", c.name, got, c.want)
		}
	}
	if err := s.Status(""); err != nil {
		t.Error(err)
	}
	if got, ok := messages.queued(t); ok {
		t.Errorf("an empty status sent %q", got)
	}
}

func TestNotifyWithoutAddressee(t *testing.T) {
	s := &Service{notify: filepath.Join(shortDir(t), "gone")}
	if err := s.Ready(""); err == nil || !strings.Contains(err.Error(), "notify the service manager") {
		t.Errorf("a dead manager: error %v", err)
	}
}

// The watchdog is fed from health, not by a timer: a check that fails feeds
// nothing, and a check that hangs is not asked twice.
func TestWatch(t *testing.T) {
	path, messages := notifySocket(t)
	s := &Service{notify: path, watchdog: 30 * time.Millisecond}
	ctx, cancel := context.WithCancel(context.Background())
	answers := make(chan error)
	asked := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Watch(ctx, slog.New(slog.DiscardHandler), func(ctx context.Context) error {
			asked <- struct{}{}
			select {
			case err := <-answers:
				return err
			case <-time.After(deadMan):
				return errors.New("the test forgot to answer")
			}
		})
	}()
	ask := func(answer error) {
		<-asked
		answers <- answer
	}
	ask(nil)
	if got := messages.next(t); got != "WATCHDOG=1" {
		t.Errorf("sent %q", got)
	}
	ask(errors.New("stuck"))
	ask(errors.New("stuck"))
	<-asked // so the answer before it has been dealt with
	if got, ok := messages.queued(t); ok {
		t.Errorf("fed while unhealthy: %q", got)
	}
	cancel()
	answers <- nil
	<-done
	if got, ok := messages.queued(t); ok {
		t.Errorf("fed after the end: %q", got)
	}
}

func TestWatchWithoutWatchdog(t *testing.T) {
	(&Service{}).Watch(context.Background(), slog.New(slog.DiscardHandler), func(context.Context) error {
		t.Error("asked for health without a watchdog")
		return nil
	})
}

func TestProlong(t *testing.T) {
	path, messages := notifySocket(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&Service{notify: path}).Prolong(ctx, slog.New(slog.DiscardHandler))
	}()
	if got := messages.next(t); got != "EXTEND_TIMEOUT_USEC=15000000" {
		t.Errorf("sent %q", got)
	}
	if got := messages.next(t); got != "WATCHDOG=1" {
		t.Errorf("sent %q", got)
	}
	cancel()
	<-done
	(&Service{}).Prolong(context.Background(), nil) // nobody to ask: returns at once
}
