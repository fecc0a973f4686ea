package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

func (p *program) stopCommand() *cobra.Command {
	var keep, end bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon and wait until it has ended",
		Long: `Stop the daemon and wait until it has ended. What becomes of running tasks says
daemon.onStop: by default they end with the daemon, but for one under systemd,
which leaves them running for the next daemon.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := exclude(cmd, "keep-tasks", "cancel-tasks"); err != nil {
				return err
			}
			var params rpc.DaemonStop
			if keep || end {
				params.KeepTasks = &keep
			}
			return p.stop(cmd.Context(), params)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep-tasks", false, "let the tasks run; the next daemon has them again")
	cmd.Flags().BoolVar(&end, "cancel-tasks", false, "end the tasks, whatever daemon.onStop says")
	return cmd
}

// running connects to a daemon that runs, and starts none.
func (p *program) running(ctx context.Context) (*client.Client, error) {
	p.noAutostart = true
	return p.dial(ctx)
}

func (p *program) stop(ctx context.Context, params rpc.DaemonStop) error {
	c, err := p.running(ctx)
	if errors.Is(err, client.ErrNoDaemon) {
		p.say("%v", err) // that is what was wanted
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	var status rpc.DaemonStatus
	if err := c.Call(ctx, rpc.MethodDaemonStatus, rpc.Empty{}, &status); err != nil {
		return err
	}
	onStop, err := setting(ctx, c.Call, "daemon.onStop") // decides about tasks where no flag does
	if err != nil {
		return err
	}
	process, err := openProcess(status.PID)
	if err != nil {
		return err
	}
	defer process.close()
	err = c.Call(ctx, rpc.MethodDaemonStop, params, nil)
	if err != nil && !errors.Is(err, client.ErrLost) && !errors.Is(err, rpc.ErrShuttingDown) {
		return err
	}
	if err := gone(ctx, c); err != nil {
		return err
	}
	if err := process.wait(ctx); err != nil {
		return err
	}
	p.tellTasks(params, status, onStop)
	return nil
}

// setting asks for a text among the settings in force; a daemon of another
// version may have none of that name.
func setting(ctx context.Context, call caller, key string) (string, error) {
	var result rpc.ConfigGetResult
	if err := call(ctx, rpc.MethodConfigGet, rpc.Empty{}, &result); err != nil {
		return "", err
	}
	for _, s := range result.Settings {
		if s.Key == key {
			var value string
			err := json.Unmarshal(s.Value, &value)
			return value, err
		}
	}
	return "", nil
}

// tellTasks says what became of the tasks that ran when the daemon was stopped.
func (p *program) tellTasks(params rpc.DaemonStop, status rpc.DaemonStatus, onStop string) {
	live := status.Tasks.Running + status.Tasks.Stopping
	keep := onStop == "keep" || onStop != "cancel" && status.Supervisor == "systemd"
	if params.KeepTasks != nil {
		keep = *params.KeepTasks
	}
	switch {
	case live == 0:
	case keep && live == 1:
		p.say("1 running task goes on; the next daemon has it again")
	case keep:
		p.say("%d running tasks go on; the next daemon has them again", live)
	case live == 1:
		p.say("1 running task was ended (--keep-tasks leaves it running)")
	default:
		p.say("%d running tasks were ended (--keep-tasks leaves them running)", live)
	}
}

// gone waits until the daemon has closed the connection.
func gone(ctx context.Context, c *client.Client) error {
	select {
	case <-c.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *program) restartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart",
		Short: "Replace the daemon in place by this program's version; tasks go on",
		Args:  takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.restart(cmd.Context())
		},
	}
}

func (p *program) restart(ctx context.Context) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	autostart := !p.noAutostart
	c, err := p.running(ctx)
	p.noAutostart = !autostart
	switch {
	case err == nil:
		err = c.Call(ctx, rpc.MethodDaemonRestart, rpc.DaemonRestart{Executable: exe}, nil)
		// Somebody else may be restarting or stopping it: what counts is the next one.
		if err == nil || errors.Is(err, client.ErrLost) || errors.Is(err, rpc.ErrShuttingDown) {
			err = gone(ctx, c)
		}
		_ = c.Close()
		if err != nil {
			return err
		}
	case !errors.Is(err, client.ErrNoDaemon):
		return err
	}
	// The socket stays open over a restart: this connects to the new one, or starts one.
	c, err = p.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	p.say("the daemon runs version %s", c.Server().Server.Version)
	return nil
}

func (p *program) reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Make the daemon read its configuration, and wait for the outcome",
		Args:  takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.reload(cmd.Context())
		},
	}
}

func (p *program) reload(ctx context.Context) error {
	c, err := p.running(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	var result rpc.ConfigReloadResult
	if err := c.Call(ctx, rpc.MethodConfigReload, rpc.Empty{}, &result); err != nil {
		return err
	}
	switch {
	case len(result.Errors) > 0:
		return &failure{
			statusConfig, fmt.Errorf("refused: %s", strings.Join(result.Errors, "\n")),
			"the settings in force stay; mend the file and reload again",
		}
	case result.Changed:
		p.say("the new settings are in force")
	default:
		p.say("nothing has changed")
	}
	return p.lookAtShell(ctx, c.Call)
}

// lookAtShell tells of a setting that is valid and yet of no use here.
func (p *program) lookAtShell(ctx context.Context, call caller) error {
	shell, err := setting(ctx, call, "commands.shell")
	if err != nil {
		return err
	}
	if shell == "" {
		return nil
	}
	if _, err := findShell(shell); err != nil {
		p.say("%v", err)
		p.say("%s", shellAdvice)
	}
	return nil
}
