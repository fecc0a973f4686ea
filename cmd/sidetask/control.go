package main

import (
	"context"
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
		Args:  takes(0, 0),
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
	return process.wait(ctx)
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
		if err == nil || errors.Is(err, client.ErrLost) {
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
	return nil
}
