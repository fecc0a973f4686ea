package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// binary is built once for all tests.
var keeperBinary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "keeper")
	if err == nil {
		keeperBinary = filepath.Join(dir, "sidetask-keeper")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", keeperBinary, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// patience is a dead man's limit, never an expectation.
const patience = time.Minute

// spare is a keeper that waits for its job, and the daemon's end of its socket.
type spare struct {
	*exec.Cmd
	conn *net.UnixConn
	done chan struct{}
}

func start(t *testing.T) *spare {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	_ = ours.Close()
	s := &spare{Cmd: exec.Command(keeperBinary), conn: conn.(*net.UnixConn), done: make(chan struct{})}
	s.ExtraFiles = []*os.File{theirs}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	go func() {
		_ = s.Wait()
		close(s.done)
	}()
	t.Cleanup(func() {
		_ = s.conn.Close()
		_ = s.Process.Kill()
		<-s.done
	})
	_ = s.conn.SetDeadline(time.Now().Add(patience))
	return s
}

// ends waits for the keeper's end.
func (s *spare) ends(t *testing.T) {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		t.Fatal("the keeper did not end")
	}
}

// newJob is a job on folders of its own.
func newJob(t *testing.T, command string) *wire.Job {
	t.Helper()
	dir, err := os.MkdirTemp("", "k") // short: the socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	j := &wire.Job{
		Format: wire.Format, Row: 7, Dir: filepath.Join(dir, "7"), Exits: filepath.Join(dir, "exits"), Control: filepath.Join(dir, "c"),
		Path: "/bin/sh", Argv: []string{"sh", "-c", command}, Env: []string{"PATH=/usr/bin:/bin"}, Cwd: dir,
		Bytes: 1 << 20, Head: 1 << 10, GraceMs: patience.Milliseconds(),
	}
	for _, d := range []string{j.Dir, j.Exits} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// send sends bytes, with the task's locked file beside the first.
func (s *spare) send(t *testing.T, j *wire.Job, framed []byte) {
	t.Helper()
	lock, err := os.OpenFile(filepath.Join(j.Dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.conn.WriteMsgUnix(framed, unix.UnixRights(int(lock.Fd())), nil); err != nil {
		t.Fatal(err)
	}
}

// report reads the keeper's answer.
func (s *spare) report(t *testing.T) wire.Report {
	t.Helper()
	r := bufio.NewReader(s.conn)
	var length uint32
	if err := binary.Read(r, binary.BigEndian, &length); err != nil {
		t.Fatal(err)
	}
	text, err := r.ReadBytes('\n')
	var rep wire.Report
	if err == nil {
		err = wire.Decode(text, &rep)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func recordOf(t *testing.T, j *wire.Job) wire.Exit {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(j.Exits, "7"))
	if err != nil {
		t.Fatal(err)
	}
	var e wire.Exit
	if err := wire.Decode(text, &e); err != nil {
		t.Fatalf("record %q: %v", text, err)
	}
	return e
}

// TestJob: a job is done, its lock is held until the keeper ends, and its record
// and output are there then.
func TestJob(t *testing.T) {
	s, j := start(t), newJob(t, "echo hi; read x < fifo; exit 5")
	if err := unix.Mkfifo(filepath.Join(j.Cwd, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.send(t, j, wire.Frame(j))
	if r := s.report(t); r.PID == 0 || r.Error != "" {
		t.Fatalf("report %+v", r)
	}
	lock, err := os.Open(filepath.Join(j.Dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != unix.EWOULDBLOCK {
		t.Errorf("the lock of a live keeper: %v", err)
	}
	if err := os.WriteFile(filepath.Join(j.Cwd, "fifo"), []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	s.ends(t)
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH|unix.LOCK_NB); err != nil {
		t.Errorf("the lock of an ended keeper: %v", err)
	}
	if e := recordOf(t, j); e.Code != 5 || e.Signal != 0 || e.Row != 7 || e.Leftovers != 0 {
		t.Errorf("record %+v", e)
	}
	if text, err := os.ReadFile(filepath.Join(j.Dir, wire.OutDir, strings.Repeat("0", 19))); string(text) != "hi\n" {
		t.Errorf("output %q, %v", text, err)
	}
	if _, err := os.Stat(j.Control); !os.IsNotExist(err) {
		t.Errorf("the control socket is still there: %v", err)
	}
}

// TestSpareEnds: a spare ends when the daemon's end closes, and a job that breaks
// off is not done.
func TestSpareEnds(t *testing.T) {
	j := newJob(t, "touch ran")
	whole := wire.Frame(j)
	for _, n := range []int{0, 1, 4, 5, len(whole) - 1} {
		s := start(t)
		if n > 0 {
			s.send(t, j, whole[:n])
		}
		_ = s.conn.Close()
		s.ends(t)
	}
	for name, framed := range map[string][]byte{
		"no line":   {0, 0, 0, 2, '{', 'x'},
		"too large": {0xff, 0xff, 0xff, 0xff, 'x'},
	} {
		s := start(t)
		s.send(t, j, framed)
		s.ends(t)
		t.Log(name, "ended it")
	}
	s := start(t)
	if _, err := s.conn.Write(whole); err != nil { // without the locked file
		t.Fatal(err)
	}
	s.ends(t)
	if _, err := os.Stat(filepath.Join(j.Cwd, "ran")); err == nil {
		t.Error("a job that broke off was done")
	}
}

// TestRefusedJobs: what a keeper cannot do it says, with a record where one can be.
func TestRefusedJobs(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*wire.Job)
		want     string
		recorded bool
	}{
		{"another format", func(j *wire.Job) { j.Format++ }, "different versions", false},
		{"no folder", func(j *wire.Job) { j.Dir += "x" }, "make spool", true},
		{"directory gone", func(j *wire.Job) { j.Cwd += "/gone" }, "working directory", true},
		{"no directory", func(j *wire.Job) { j.Cwd = "/dev/null" }, "not a directory", true},
		{"no program", func(j *wire.Job) { j.Path = "/none" }, "/none: no such file or directory", true},
		{"no socket", func(j *wire.Job) { j.Control += "/x/y" }, "make control socket", true},
		{"terminal too large", func(j *wire.Job) { j.Cols, j.Rows = 1<<20, 5 }, "expected 1 to 10000 columns and rows", true},
	} {
		s, j := start(t), newJob(t, "true")
		framed := *j
		c.change(&framed)
		s.send(t, j, wire.Frame(&framed))
		r := s.report(t)
		if r.PID != 0 || !strings.Contains(r.Error, c.want) || r.Recorded != c.recorded {
			t.Errorf("%s: report %+v", c.name, r)
		}
		s.ends(t)
		if c.recorded {
			if e := recordOf(t, j); e.SpawnError != r.Error {
				t.Errorf("%s: record %+v", c.name, e)
			}
		}
	}
}

// TestUnsigned: where there is no room to write down who keeps the task, no command
// is started: a daemon that came later would take it for lost.
func TestUnsigned(t *testing.T) {
	s, j := start(t), newJob(t, "touch began")
	if err := os.Symlink("/dev/full", filepath.Join(j.Dir, "lock")); err != nil {
		t.Fatal(err)
	}
	s.send(t, j, wire.Frame(j))
	if r := s.report(t); r.PID != 0 || !strings.Contains(r.Error, unix.ENOSPC.Error()) || r.Recorded {
		t.Errorf("report %+v", r)
	}
	s.ends(t)
	if _, err := os.Stat(filepath.Join(j.Cwd, "began")); err == nil {
		t.Error("the command was started")
	}
}

// TestRecordAgain: a record may be written again: also when all but the last step
// of the first time worked, which a file that was closed then must not prevent.
func TestRecordAgain(t *testing.T) {
	j := newJob(t, "true")
	r := newRecord(j)
	for code := range 3 {
		if err := r.write(wire.Exit{Format: wire.Format, Row: j.Row, Code: code}); err != nil {
			t.Fatalf("written for the %d. time: %v", code+1, err)
		}
		if e := recordOf(t, j); e.Code != code {
			t.Errorf("record %+v", e)
		}
	}
}

// TestMark: each keeper gives its command a limit that is none, of its own; one
// that means something stays.
func TestMark(t *testing.T) {
	const some = 200_000
	seen := make(map[string]bool)
	for _, soft := range []uint64{unix.RLIM_INFINITY, unix.RLIM_INFINITY, some} {
		s, j := start(t), newJob(t, "while read -r line; do case $line in *realtime*timeout*) echo ${line#*timeout};; esac; done < /proc/self/limits")
		if err := unix.Prlimit(s.Process.Pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: soft, Max: unix.RLIM_INFINITY}, nil); err != nil {
			t.Fatal(err)
		}
		s.send(t, j, wire.Frame(j))
		s.report(t)
		s.ends(t)
		text, err := os.ReadFile(filepath.Join(j.Dir, wire.OutDir, strings.Repeat("0", 19)))
		limits := strings.Fields(string(text)) // soft, hard, unit
		if err != nil || len(limits) != 3 || limits[1] != "unlimited" {
			t.Fatalf("limits %q, %v", text, err)
		}
		n, err := strconv.ParseUint(limits[0], 10, 64)
		if marked := err == nil && n >= wire.LeastMark; marked != (soft != some) || soft == some && n != some {
			t.Errorf("the soft limit of %d is %s in the command", soft, limits[0])
		}
		if seen[limits[0]] {
			t.Errorf("two keepers have one mark: %s", limits[0])
		}
		seen[limits[0]] = true
	}
}
