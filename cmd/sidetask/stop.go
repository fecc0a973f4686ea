package main

import (
	"context"
	"errors"

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

func (p *program) stop(ctx context.Context, how rpc.DaemonStop) error {
	was, kept, err := p.endDaemon(ctx, how)
	if errors.Is(err, client.ErrNoDaemon) {
		p.say("%v", err) // that is what was wanted
		return nil
	}
	if err != nil {
		return err
	}
	if live := was.Tasks.Running + was.Tasks.Stopping; live > 0 && kept != nil {
		p.tellTasks(live, *kept)
	}
	return nil
}

// endDaemon ends the daemon, and waits until its process has ended, too: only then
// is the lock on the state free for the next one. Where there was none the error
// is [client.ErrNoDaemon]. kept says whether its tasks run on; nil: it did not say.
func (p *program) endDaemon(ctx context.Context, how rpc.DaemonStop) (was rpc.DaemonStatus, kept *bool, err error) {
	c, err := p.dialWith(ctx, false)
	if err != nil {
		return was, nil, err
	}
	defer func() { _ = c.Close() }()
	if err := c.Call(ctx, rpc.MethodDaemonStatus, rpc.Empty{}, &was); err != nil {
		return was, nil, err
	}
	process, err := openProcess(was.PID)
	if err != nil {
		return was, nil, err
	}
	defer process.close()
	var stopped rpc.DaemonStopped
	err = c.Call(ctx, rpc.MethodDaemonStop, how, &stopped)
	// Somebody else may be stopping it: that it ends is what counts.
	if err != nil && !errors.Is(err, client.ErrLost) && !errors.Is(err, rpc.ErrShuttingDown) {
		return was, nil, err
	}
	if err = gone(ctx, c); err == nil {
		err = process.wait(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fail("`sidetask status` says what it is doing", "the daemon (pid %d) did not end: %w", was.PID, err)
	}
	return was, stopped.KeepTasks, err
}

// tellTasks says what became of the tasks that ran when the daemon was stopped.
func (p *program) tellTasks(live int, kept bool) {
	switch {
	case kept && live == 1:
		p.say("1 running task goes on; the next daemon has it again")
	case kept:
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
