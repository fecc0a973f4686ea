package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"time"

	"sidetask/registry"
	"sidetask/rpc"
	"sidetask/systemd"
)

// tryTime bounds the trial run of a new binary before it takes over.
const tryTime = 10 * time.Second

// What `sidetask daemon --check` prints begins with one of these; after the second
// comes the reason, and the exit status is [rpc.ExitConfig] where that is the file.
const (
	CheckPassed = "sidetask can serve: "
	CheckFailed = "sidetask cannot serve: "
)

// Status is daemon/status but for what the server knows: clients and configuration.
func (d *daemon) Status(context.Context) (rpc.DaemonStatus, error) {
	counts, leftovers := d.registry.Counts(), d.process.Leftovers()
	status := rpc.DaemonStatus{
		PID: os.Getpid(), Version: d.options.Version, Executable: d.options.Executable,
		Socket: d.options.Paths.Socket, StateDir: d.options.Paths.State,
		StartedAt: d.started.UnixMilli(), UptimeMs: time.Since(d.started).Milliseconds(),
		Supervisor: d.supervisor(),
		Tasks: rpc.TaskCounts{
			Running: counts.Starting + counts.Running, Stopping: counts.Stopping, Finished: counts.Finished, Leftovers: leftovers,
		},
		Owners: counts.Owners, RSSBytes: memory(), Warnings: []string{},
		DiskBytes: d.outputBytes(),
	}
	if d.options.Paths.Warning != "" {
		// Its own environment may be another than that of whoever reads this.
		status.Warnings = append(status.Warnings, "the daemon was started where "+d.options.Paths.Warning)
	}
	status.Warnings = append(status.Warnings, d.process.Warnings()...)
	if _, err := d.state.mend(roughly); err != nil {
		status.Warnings = append(status.Warnings, err.Error())
	} else if err := d.registry.Trouble(); err != nil {
		status.Warnings = append(status.Warnings, "changes cannot be recorded now and are tried again: "+err.Error())
	}
	return status, nil
}

func (d *daemon) supervisor() string {
	switch {
	case d.options.Service.Supervised():
		return "systemd"
	case d.options.Autostarted:
		return "autostart"
	}
	return "foreground"
}

// KeepsTasks says whether live tasks run on when the daemon is stopped: as the
// client asked, else as daemon.onStop says.
func (d *daemon) KeepsTasks(asked *bool) bool {
	if asked != nil {
		return *asked
	}
	switch d.live.Current().Daemon.OnStop {
	case "cancel":
		return false
	case "keep":
		return true
	}
	return d.options.Service.Supervised()
}

// Stop ends the daemon as soon as the call is answered.
func (d *daemon) Stop(keepTasks bool) { d.ask(end{cancel: !keepTasks}) }

// CheckRestart runs `NEW daemon --check` before anything is given up for it: in
// the environment that a restart in place leaves to NEW, too. A refusal is logged,
// for whoever asked may be a script that nobody watches.
func (d *daemon) CheckRestart(ctx context.Context, executable string) error {
	if executable == "" {
		executable = d.options.Executable
	}
	if !filepath.IsAbs(executable) {
		return rpc.Errorf(rpc.CodeInvalidParams, "executable %q: give an absolute path", executable)
	}
	if _, err := d.state.mend(closely); err != nil {
		return fmt.Errorf("not restarted: %w", err)
	}
	err := tryOut(ctx, executable)
	if err != nil && !errors.Is(err, rpc.ErrShuttingDown) {
		d.log.Error("a restart was refused", "executable", executable, "error", err)
	}
	return err
}

// tryOut asks the program itself whether it could start as a daemon.
func tryOut(ctx context.Context, executable string) error {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, executable, "daemon", "--check").Output()
	if errors.Is(ctx.Err(), context.Canceled) {
		return rpc.Errorf(rpc.CodeShuttingDown, "the daemon is being restarted already")
	}
	if err == nil && strings.HasPrefix(string(out), CheckPassed) {
		return nil
	}
	var exit *exec.ExitError
	reason, refused := strings.CutPrefix(string(out), CheckFailed)
	switch reason = strings.TrimSpace(reason); {
	case !refused || !errors.As(err, &exit):
		said := "said nothing"
		if line := firstLine(out); line != "" {
			said = fmt.Sprintf("said %q", line)
		}
		if err != nil {
			said += fmt.Sprintf(" and failed (%v)", err)
		}
		return fmt.Errorf("%s is no sidetask that could be the daemon here: asked by `daemon --check`, it %s; the daemon goes on as it is", executable, said)
	case exit.ExitCode() == rpc.ExitConfig:
		return rpc.Errorf(rpc.CodeConfiguration, "not restarted, the daemon goes on as it is: %s", reason)
	}
	return fmt.Errorf("not restarted, the daemon goes on as it is: %s", reason)
}

// Restart replaces the daemon by another binary, under the same pid and socket.
func (d *daemon) Restart(executable string) {
	if executable == "" {
		executable = d.options.Executable
	}
	d.ask(end{next: executable})
}

// ask hands the end to the life's loop; the first request wins.
func (d *daemon) ask(e end) {
	select {
	case d.requests <- e:
	default:
	}
}

// successor is the program that is to replace this one.
type successor struct {
	executable string
	socket     *os.File // the listening socket, on which clients queue meanwhile
}

// replace goes on as another program. Everything is closed but the lock and
// the socket.
func (d *daemon) replace(next *successor, locked *lock) error {
	kept, err := locked.keepOverExec()
	if err != nil {
		return fmt.Errorf("keep the lock over the restart: %w", err)
	}
	environ := append(os.Environ(), kept)
	err = d.options.Service.Exec(next.executable, append([]string{next.executable}, os.Args[1:]...), environ, map[string]*os.File{
		systemd.ListenerName: next.socket,
	})
	return fmt.Errorf("restart as %s: %w", next.executable, err)
}

// announce tells whoever waits that the daemon serves.
func (d *daemon) announce() {
	d.log.Info("serving", "socket", d.options.Paths.Socket, "version", d.options.Version, "pid", os.Getpid())
	_ = d.options.Service.Ready(d.statusLine())
	if d.options.Ready != nil {
		d.options.Ready(d.options.Paths.Socket)
	}
}

func (d *daemon) statusLine() string {
	counts := d.registry.Counts()
	line := fmt.Sprintf("%d tasks running, %d owners", counts.Running+counts.Stopping, counts.Owners)
	if errs := d.live.State().Errors; len(errs) > 0 {
		line += "; configuration refused: " + errs[0]
	}
	return line
}

// memory is what the Go runtime holds of the system, in bytes.
func memory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

// outputBytes is what is kept of the output of all tasks.
func (d *daemon) outputBytes() (total int64) {
	for _, facts := range d.registry.FactsOf(d.registry.List(registry.AsOperator(), true)) {
		total += facts.Disk
	}
	return total
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(string(out), "\n")
	return line[:min(len(line), 200)]
}
