package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// TestControl: what comes on the control socket is answered or refused; nothing
// that an asker does holds the keeper up.
func TestControl(t *testing.T) {
	s, j := start(t), newJob(t, "cat; sleep 1000")
	j.Stdin = true
	s.send(t, j, wire.Frame(j))
	s.report(t)
	dial := func() net.Conn {
		c, err := net.Dial("unix", j.Control)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(patience))
		return c
	}
	ask := func(c net.Conn, line string) string {
		if _, err := fmt.Fprintln(c, line); err != nil {
			return "closed"
		}
		text, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			return "closed"
		}
		return strings.TrimSpace(text)
	}
	for range maxConns - 2 {
		_ = dial() // says nothing, for ever
	}
	half := dial()
	_, _ = half.Write([]byte(`op="sta`))
	for line, want := range map[string]string{
		`op="status"`:                               `processes=2`,
		`op="dance" later="field"`:                  `does not know`,
		`no request`:                                `closed`,
		`op="resize" cols=1 rows=1`:                 `no terminal`,
		`op="write" data="hi\n"`:                    `written=3`,
		strings.Repeat("x", 2*wire.MaxRequest+1000): `closed`,
	} {
		c := dial()
		if got := ask(c, line); !strings.Contains(got, want) {
			t.Errorf("%.40s: %q, want %q", line, got, want)
		}
		_ = c.Close()
	}
	again := dial()
	for range 3 { // one connection may ask more than once
		if got := ask(again, `op="status"`); !strings.Contains(got, "processes") {
			t.Errorf("asked again: %q", got)
		}
	}
	if got := ask(again, `op="stop" graceMs=5000`); !strings.Contains(got, `processes=2`) {
		t.Errorf("stop: %q", got)
	}
	s.ends(t)
	if e := recordOf(t, j); e.Signal != int(unix.SIGTERM) || e.Cause != wire.CauseStop {
		t.Errorf("record %+v", e)
	}
}

// TestHangup: a keeper survives what its session's end sends, and stops its command
// at SIGTERM.
func TestHangup(t *testing.T) {
	s, j := start(t), newJob(t, "echo ready; sleep 1000")
	s.send(t, j, wire.Frame(j))
	s.report(t)
	for _, signal := range []unix.Signal{unix.SIGHUP, unix.SIGHUP, unix.SIGXFSZ} {
		if err := unix.Kill(s.Process.Pid, signal); err != nil {
			t.Fatal(err)
		}
	}
	c, err := net.Dial("unix", j.Control)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := fmt.Fprintln(c, `op="status"`); err != nil {
		t.Fatal(err)
	}
	if text, err := bufio.NewReader(c).ReadString('\n'); err != nil {
		t.Fatalf("after SIGHUP: %q, %v", text, err)
	}
	if err := unix.Kill(s.Process.Pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ends(t)
	if e := recordOf(t, j); e.Signal != int(unix.SIGTERM) || e.Cause != wire.CauseStop {
		t.Errorf("record %+v", e)
	}
}
