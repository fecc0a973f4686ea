package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sidetask/process/wire"
	"sidetask/spool"

	"golang.org/x/sys/unix"
)

// keeper is the whole state of the process. One goroutine uses it.
type keeper struct {
	job     *wire.Job
	lock    int // held for as long as the keeper lives
	signals *signals
	me      wire.Alive

	command int // pid, until it is reaped
	pidfd   int // of the command; -1 where the kernel gives none, and after the end
	streams []*stream
	order   *spool.Writer // marks; nil unless the streams are kept apart
	rest    []byte        // of a mark of which a full disk took only a part
	buf     []byte        // of all reads; see buffer
	copied  int64         // bytes since the last tidy
	input   *input        // nil: /dev/null
	control *control
	record  *record
	memory  memory

	cause    string
	began    time.Time  // when the command was started, monotonic
	limit    time.Time  // zero: no time limit
	stopping *stopping  // nil: nobody asked
	ended    *wire.Exit // the command's end; its record may be still to be written
	endedAt  time.Time  // the same, monotonic
	written  bool       // the record is written
	quiet    time.Time  // last output or input
}

// start starts the command and tells the daemon. false: there is nothing to
// keep; a record says why.
func (k *keeper) start(daemon int) bool {
	k.pidfd = -1
	k.memory.watch(k.job.Group)
	k.mark()
	k.record = newRecord(k.job)
	err := k.sign() // a new daemon can adopt from here on
	if err == nil {
		err = k.prepare()
	}
	if err == nil {
		err = k.spawn()
	}
	if err != nil {
		tell(daemon, wire.Report{Error: err.Error(), Recorded: k.fail(err)})
		return false
	}
	k.began = time.Now()
	if k.job.TimeoutMs > 0 {
		k.limit = k.began.Add(time.Duration(k.job.TimeoutMs) * time.Millisecond)
	}
	k.active()
	_ = k.sign() // who has only the first line knows enough
	tell(daemon, wire.Report{PID: k.command})
	// Beside the command, which need not wait for it. Where there is no room now it
	// is tried again at the end.
	_ = k.record.reserve()
	return true
}

// prepare makes what must be there before the command is.
func (k *keeper) prepare() (err error) {
	if k.job.Format != wire.Format {
		k.record = nil // its daemon would not understand it
		return fmt.Errorf("keeper and daemon are of different versions (formats %d and %d): restart the daemon", wire.Format, k.job.Format)
	}
	k.control, err = listen(k.job.Control)
	return err
}

// fail leaves a record of a command that never ran, if it can.
func (k *keeper) fail(err error) (recorded bool) {
	if k.control != nil {
		k.control.close(k.job.Control)
	}
	removeGroup(k.job.Group)
	if k.record == nil || errors.Is(err, unix.ENOSPC) {
		return false // an error of the call then, and no task
	}
	return k.record.write(wire.Exit{Format: wire.Format, Row: k.job.Row, SpawnError: err.Error(), EndedAt: time.Now().UnixMilli()}) == nil
}

// spawn makes the streams and starts the command on them.
func (k *keeper) spawn() error {
	ends, err := k.connect()
	if err != nil {
		return err
	}
	defer ends.close()
	attr := &syscall.ProcAttr{
		Dir:   k.job.Cwd,
		Env:   k.job.Env,
		Files: []uintptr{uintptr(ends.in), uintptr(ends.out), uintptr(ends.err)},
		// A command whose keeper is killed could not write any more, nor be
		// stopped: it ends with it.
		Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &k.pidfd, Pdeathsig: syscall.SIGKILL},
	}
	if k.job.Cols > 0 {
		attr.Sys.Setctty = true // to fd 0
	}
	if k.job.Group != "" {
		group, err := openGroup(k.job.Group)
		if err != nil {
			return err
		}
		defer unix.Close(group)
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, group
	}
	k.command, err = syscall.ForkExec(k.job.Path, k.job.Argv, attr)
	if err != nil {
		return spawnError(k.job, err)
	}
	if k.pidfd >= 0 {
		unix.CloseOnExec(k.pidfd)
	}
	return nil
}

// spawnError names what the kernel meant: exec and chdir fail with the same
// numbers.
func spawnError(j *wire.Job, err error) error {
	if info, statErr := os.Stat(j.Cwd); statErr != nil {
		return fmt.Errorf("working directory %s: %w", j.Cwd, unwrap(statErr))
	} else if !info.IsDir() {
		return fmt.Errorf("working directory %s: not a directory", j.Cwd)
	}
	if unix.Access(j.Cwd, unix.X_OK) != nil {
		return fmt.Errorf("working directory %s: permission denied", j.Cwd)
	}
	return fmt.Errorf("%s: %w", j.Path, err)
}

func unwrap(err error) error {
	if path, ok := err.(*os.PathError); ok {
		return path.Err
	}
	return err
}

// ends are the command's ends of its streams.
type ends struct{ in, out, err int }

func (e *ends) close() {
	for _, fd := range []int{e.in, e.out, e.err} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// connect makes pipes or a terminal, and the spools behind them.
func (k *keeper) connect() (e *ends, err error) {
	e = &ends{in: -1, out: -1, err: -1}
	defer func() {
		if err != nil {
			e.close()
		}
	}()
	if k.job.Cols > 0 {
		return e, k.connectTerminal(e)
	}
	if err := k.connectInput(e); err != nil {
		return e, err
	}
	if e.out, err = k.addStream(wire.OutDir); err != nil {
		return e, err
	}
	if !k.job.Separate {
		e.err, err = unix.FcntlInt(uintptr(e.out), unix.F_DUPFD_CLOEXEC, 0)
		return e, err
	}
	if e.err, err = k.addStream(wire.ErrDir); err != nil {
		return e, err
	}
	k.order, err = spool.NewWriter(filepath.Join(k.job.Dir, wire.OrderDir), spool.Limits{Bytes: k.job.Bytes, Head: k.job.Head})
	return e, err
}

func (k *keeper) connectInput(e *ends) (err error) {
	if !k.job.Stdin {
		e.in, err = unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	}
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("make input pipe: %w", err)
	}
	e.in = p[0]
	if err := unix.SetNonblock(p[1], true); err != nil {
		_ = unix.Close(p[1])
		return err
	}
	k.input = newInput(p[1], false)
	return nil
}

// addStream makes a pipe whose reading end is copied into a spool, and gives the
// writing end.
func (k *keeper) addStream(dir string) (int, error) {
	w, err := k.newSpool(dir)
	if err != nil {
		return -1, err
	}
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		_ = w.Close()
		return -1, fmt.Errorf("make output pipe: %w", err)
	}
	if err := unix.SetNonblock(p[0], true); err != nil {
		return p[1], err
	}
	k.streams = append(k.streams, &stream{fd: p[0], spool: w})
	return p[1], nil
}

func (k *keeper) newSpool(dir string) (*spool.Writer, error) {
	return spool.NewWriter(filepath.Join(k.job.Dir, dir), spool.Limits{Bytes: k.job.Bytes, Head: k.job.Head})
}
