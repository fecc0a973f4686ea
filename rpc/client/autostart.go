package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sidetask/rpc"
)

// startTime bounds the start of a daemon, recovery of its tasks included.
const startTime = 60 * time.Second

// holderTime is how long the daemon that holds the lock gets to listen before
// the next try to take its place.
const (
	holderTime  = time.Second
	holderTries = 15
)

// Autostart says how to start a daemon: Executable with Args is the helper
// that calls [Detach]. It is run in a session of its own, in "/", with fds 0-2
// on /dev/null, fd 3 the pipe on which the daemon reports ([Report]), and the
// few variables that a daemon needs.
type Autostart struct {
	Executable string // absolute
	Args       []string
}

// Self is this program's own way to start its daemon: `sidetask daemon --detach`.
func Self() (*Autostart, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
	}
	return &Autostart{Executable: exe, Args: []string{"daemon", "--detach"}}, nil
}

// StartError is the report of a daemon that was started and ended at once.
type StartError struct {
	Message string
	Next    string // what to do; may be empty
	Status  int    // its exit status: [rpc.ExitConfig] and its like
}

// Error is the daemon's own message, after what it means where that does not say so.
func (e *StartError) Error() string {
	if e.Status == rpc.ExitConfig {
		return "no daemon could be started: its configuration is refused\n" + e.Message
	}
	return e.Message
}

// Hint is the line that says what to do; may be empty.
func (e *StartError) Hint() string { return e.Next }

// run starts a daemon and connects when it listens. That another one did so
// meanwhile is as good: the single-instance lock decides which, and the loser
// says so.
func (a *Autostart) run(ctx context.Context, socket string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for try := 1; ; try++ {
		report, err := a.start(ctx, socket)
		if errors.Is(err, errKeeper) {
			return nil, &noDaemon{socket: socket, keeper: err}
		}
		if err != nil {
			return nil, &StartError{Message: "start the daemon: " + err.Error(), Status: rpc.ExitUnavailable}
		}
		switch {
		case report.Ready:
			conn, err := connect(ctx, socket)
			if errors.Is(err, ErrNoDaemon) && try < holderTries {
				continue // it has ended before we came: others had been served
			}
			return conn, err
		case report.Status == rpc.ExitUnavailable: // the service manager may have begun to listen meanwhile: as good
			if conn, err := connect(ctx, socket); err == nil {
				return conn, nil
			}
			return nil, &StartError{Message: report.Error, Next: report.Hint, Status: report.Status}
		case report.Status != rpc.ExitBusy:
			return nil, &StartError{Message: report.Error, Next: report.Hint, Status: report.Status}
		case report.Socket != "" && report.Socket != socket:
			return nil, &StartError{Message: report.Error, Next: report.advice(socket), Status: rpc.ExitUnavailable}
		}
		conn, err := awaitHolder(ctx, socket)
		if err == nil || !errors.Is(err, context.DeadlineExceeded) {
			return conn, err
		}
		if ctx.Err() != nil || try == holderTries {
			return nil, &StartError{Message: report.Error, Next: report.advice(socket), Status: rpc.ExitUnavailable}
		}
	}
}

// awaitHolder waits for whoever holds the lock to listen. It may be a daemon
// that is about to end and never will, so that is for a while only.
func awaitHolder(ctx context.Context, socket string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, holderTime)
	defer cancel()
	return await(ctx, socket)
}

// start runs the helper, or has it run, and reads the daemon's report.
func (a *Autostart) start(ctx context.Context, socket string) (Report, error) {
	if ofTask(socket) {
		return a.startBeside(ctx, socket)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = r.Close() }()
	cmd := exec.Command(a.Executable, a.Args...)
	cmd.Dir = "/"
	cmd.Env = daemonEnv(os.Environ(), socket)
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		return Report{}, err
	}
	// The helper ends as soon as it has started the daemon, which then is a
	// child of init and none of ours.
	return hear(ctx, r, cmd.Wait())
}

// daemonEnv keeps what a daemon needs of the environment of whoever happened to
// start it. Tasks get the environment of their own caller, and a token or a
// session's marks must not live on in a daemon. Relative paths are made absolute:
// the daemon is in "/".
func daemonEnv(environ []string, socket string) []string {
	var kept []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "SIDETASK_SOCKET":
			if value != "" {
				kept = append(kept, name+"="+socket)
			}
		case "SIDETASK_CONFIG":
			if path, err := filepath.Abs(value); err == nil && value != "" {
				kept = append(kept, name+"="+path)
			}
		case "HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "DBUS_SESSION_BUS_ADDRESS", "SIDETASK_LOG":
			kept = append(kept, entry)
		default:
			if strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "LC_") {
				kept = append(kept, entry)
			}
		}
	}
	return kept
}
