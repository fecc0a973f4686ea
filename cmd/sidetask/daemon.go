package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"sidetask/config"
	"sidetask/daemon"
	"sidetask/paths"
	"sidetask/rpc"
	"sidetask/rpc/client"
	"sidetask/systemd"
)

// daemonFlags are the flags of `sidetask daemon`. All are hidden: they are how
// the daemon is started by other commands (see [client.Autostart]), and how one
// that is asked to restart tries out its successor.
type daemonFlags struct {
	detach      bool // start the daemon and be gone
	autostarted bool // be the daemon that was started so
	check       bool // only say whether it could start
}

func (p *program) daemonCommand() *cobra.Command {
	var f daemonFlags
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Run the daemon in the foreground (other commands start it by themselves)",
		Long: `Run the daemon in the foreground. Other commands start it by themselves, in the
background. Exit status: 75 another daemon has the state folder, 78 the
configuration is refused.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.detach:
				return p.detach()
			case f.check:
				return p.checkDaemon(cmd.Context())
			}
			return p.daemon(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.detach, "detach", false, "start it in the background")
	flags.BoolVar(&f.autostarted, "autostarted", false, "it was started in the background")
	flags.BoolVar(&f.check, "check", false, "say whether it could start")
	for _, name := range []string{"detach", "autostarted", "check"} {
		_ = flags.MarkHidden(name) // fails only for a flag that is not there
	}
	cmd.AddCommand(p.stopCommand(), p.restartCommand(), p.reloadCommand())
	return cmd
}

// detach is the process between a starter and the daemon.
func (p *program) detach() error {
	return client.Detach([]string{"daemon", "--autostarted"})
}

// checkDaemon is for the daemon that this program is to replace: it reads what
// is printed, and the exit status.
func (p *program) checkDaemon(ctx context.Context) error {
	where, err := paths.Find()
	if err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if err := daemon.Check(ctx, daemon.Options{Paths: where, Executable: exe}); err != nil {
		status := statusError
		if bad := (config.Errors{}); errors.As(err, &bad) {
			status = statusConfig
		}
		return errors.Join(p.print("%s%v\n", daemon.CheckFailed, err), exit(status))
	}
	return p.print("%sversion %s\n", daemon.CheckPassed, version())
}

// daemon runs the daemon until it is stopped, and reports to whoever waits for it.
func (p *program) daemon(ctx context.Context, f daemonFlags) error {
	signal.Reset(syscall.SIGHUP) // what ends a command has the daemon reload
	// Both know descriptors by number, so they come before any file is opened.
	report := client.ReportPipe()
	service, err := systemd.Take()
	if err != nil {
		p.say("what the service manager handed over: %v", err)
	}
	err = p.serve(ctx, f, service, func(socket string) {
		if report != nil {
			client.Report{Ready: true, Socket: socket}.Write(report)
		}
	})
	if err != nil && report != nil {
		failed(err).Write(report) // once it was ready this goes nowhere
	}
	return err
}

func (p *program) serve(ctx context.Context, f daemonFlags, service *systemd.Service, ready func(socket string)) error {
	where, err := paths.Find()
	if err != nil {
		return &failure{statusNoDaemon, err, ""}
	}
	if where.Warning != "" {
		p.say("%s", where.Warning)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	err = daemon.Run(ctx, daemon.Options{
		Paths: where, Version: version(), Executable: exe, Log: p.stderr,
		Autostarted: f.autostarted, Service: service, Ready: ready,
	})
	var bad config.Errors
	var busy *daemon.BusyError
	switch {
	case errors.As(err, &bad):
		return badConfig(bad)
	case errors.As(err, &busy):
		return &failure{rpc.ExitBusy, err, busy.Hint()}
	}
	return err
}

// failed is the report of a daemon that did not come up.
func failed(err error) client.Report {
	report := client.Report{Error: err.Error(), Status: rpc.ExitUnavailable}
	var f *failure
	if errors.As(err, &f) {
		report.Hint, report.Status = f.next, f.status
	}
	var busy *daemon.BusyError
	if errors.As(err, &busy) {
		report.Socket, report.PID = busy.Socket, busy.PID
	}
	report.Error = strings.TrimSpace(report.Error)
	return report
}
