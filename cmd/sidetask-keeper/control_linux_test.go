package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// TestControl: what comes on the control socket is answered or refused; nothing
// that an asker does holds the keeper up.
func TestControl(t *testing.T) {
	s, j := start(t), newJob(t, "exec cat") // one process, at every instant
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
		`op="status"`:                               `processes=1`,
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
	if got := ask(again, `op="stop" graceMs=60000`); !strings.Contains(got, `processes=1`) {
		t.Errorf("stop: %q", got)
	}
	s.ends(t)
	if e := recordOf(t, j); e.Signal != int(unix.SIGTERM) || e.Cause != wire.CauseStop {
		t.Errorf("record %+v", e)
	}
}

// TestBeside: a program that is to outlive the task is no child of the keeper, in
// no session of its, and has of the asker only the connection. It is ours to bury,
// as the keeper is.
func TestBeside(t *testing.T) {
	s, j := start(t), newJob(t, "sleep 1000")
	s.send(t, j, wire.Frame(j))
	s.report(t)
	ask := func(r wire.Request) *bufio.Reader {
		t.Helper()
		c, err := net.Dial("unix", j.Control)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := c.Write(wire.Encode(&r)); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(c)
	}
	// exec, since a shell has descriptors of its own while it redirects.
	const look = `echo $$ $PPID $(cut -d' ' -f6 /proc/$$/stat) $(pwd) $MINE >&3; exec find /proc/self/fd -type l -printf '%f=%l\n' >&3`
	text, err := io.ReadAll(ask(wire.Request{ // to its end: nobody else has the connection
		Op: wire.OpBeside, Path: "/bin/sh", Argv: []string{"sh", "-c", look}, Env: []string{"MINE=yes", "PATH=/usr/bin:/bin"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(string(text), "\n")
	var pid, parent, session int
	if _, err := fmt.Sscan(line, &pid, &parent, &session); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	files := strings.Fields(rest)
	files = slices.DeleteFunc(files, func(f string) bool { return strings.Contains(f, "=/proc/") || strings.HasSuffix(f, "=/") }) // find's own
	slices.Sort(files)
	if len(files) != 4 || files[0] != "0=/dev/null" || !strings.HasPrefix(files[1], "1=socket:") || files[2] != "2=/dev/null" || files[3][1:] != files[1][1:] {
		t.Errorf("it has the files %q, want /dev/null and our socket", files)
	}
	if parent != os.Getpid() || session != pid || !strings.HasSuffix(line, " / yes") {
		t.Errorf("it says %q, want our child (%d) in a session of its own", line, os.Getpid())
	}
	if _, err := unix.Wait4(pid, nil, 0, nil); err != nil {
		t.Errorf("wait for it: %v", err)
	}
	for want, r := range map[string]wire.Request{
		"start /no/such: no such file":   {Op: wire.OpBeside, Path: "/no/such", Argv: []string{"such"}},
		"start /bin/sh: it has no name ": {Op: wire.OpBeside, Path: "/bin/sh"},
	} {
		var a wire.Answer
		line, err := ask(r).ReadBytes('\n')
		if err == nil {
			err = wire.Decode(line, &a)
		}
		if err != nil || !strings.HasPrefix(a.Error, want) {
			t.Errorf("%q, %v; want %q", a.Error, err, want)
		}
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
