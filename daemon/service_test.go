package daemon

import (
	"bufio"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"sidetask/config"
)

// The watchdog asks the socket itself: one that takes connections and says
// nothing is a hang, one that refuses them is not.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name  string
		serve func(net.Conn)
		wrong string
	}{
		{"an answer", func(conn net.Conn) {
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_, _ = conn.Write([]byte("{}\n"))
		}, ""},
		{"a refusal", func(conn net.Conn) { _ = conn.Close() }, ""},
		{"silence", func(net.Conn) {}, "does not answer"},
	} {
		path := filepath.Join(t.TempDir(), "s")
		listener, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			c.serve(conn)
			if c.wrong != "" {
				_, _ = bufio.NewReader(conn).ReadString('\n')
				cancel() // it has asked and hears nothing: its time is over
			}
			_, _ = conn.Read(make([]byte, 4096)) // until the other side is gone
			_, _ = conn.Read(make([]byte, 1))
		}()
		err = answers(ctx, path)
		cancel()
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.wrong)
		}
		listener.Close()
		<-done
	}
	if err := answers(context.Background(), filepath.Join(t.TempDir(), "gone")); err == nil {
		t.Error("nobody listens: no error")
	}
}

// A client for whose sake a daemon was started that cannot start hears why, under the
// id that it asked with.
func TestTell(t *testing.T) {
	bad := config.Errors{{}}
	for in, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a\u0062","method":"initialize"}`: `"id":"a\u0062"`,
		`{"id":1.50}`: `"id":1.50`,
		`{}`:          "",
		"nonsense":    "",
	} {
		ours, theirs := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			tell(ours, errors.Join(bad))
		}()
		go func() { _, _ = theirs.Write([]byte(in + "\n")) }()
		line, _ := bufio.NewReader(theirs).ReadString('\n')
		<-done
		_ = theirs.Close()
		if want == "" && line != "" || !strings.Contains(line, want) || want != "" && !strings.Contains(line, `"code":-32010`) {
			t.Errorf("asked %s, told %q", in, line)
		}
	}
}
