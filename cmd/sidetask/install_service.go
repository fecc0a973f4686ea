package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"sidetask/rpc"
	"sidetask/rpc/client"
	"sidetask/systemd"
)

// settleTime is how long an old daemon may take to go, and a new one to come.
const settleTime = 60 * time.Second

// enable has the manager listen, and the daemon run as a service. A daemon that
// a client started goes first, since it holds the socket and the state; so does one of
// the old binary. Its tasks stay, the next one takes them over.
func (c *installCommand) enable(ctx context.Context, m manager, changed bool) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	was, err := c.p.look(ctx)
	if err != nil {
		return err
	}
	if was != nil && (changed || was.Supervisor != "systemd") {
		keep := true
		if _, _, err := c.p.endDaemon(ctx, rpc.DaemonStop{KeepTasks: &keep}); err != nil && !errors.Is(err, client.ErrNoDaemon) {
			return err
		}
		c.p.say("the daemon of before (pid %d, %s) has ended; its tasks go on", was.PID, was.Supervisor)
	}
	// Of units that never failed it only says that there is nothing to reset.
	_, _ = m.ctl(ctx, "reset-failed", systemd.SocketUnit, systemd.ServiceUnit)
	if _, err := m.ctl(ctx, "enable", "--now", systemd.SocketUnit); err != nil {
		return fail("`systemctl --user status sidetask.socket` says why", "%w", err)
	}
	now, err := c.p.look(ctx) // this starts it
	switch {
	case err != nil:
		return err
	case now == nil:
		return fail("`systemctl --user status sidetask.socket` and `journalctl --user -u sidetask` say why", "%s is enabled, but nobody answers", systemd.SocketUnit)
	case now.Supervisor != "systemd":
		return fail("run `sidetask daemon stop --keep-tasks`, then `sidetask install --systemd` again", "another daemon answers (pid %d, %s)", now.PID, now.Supervisor)
	}
	c.p.say("%s is enabled; the daemon runs as a service (pid %d)", systemd.SocketUnit, now.PID)
	return nil
}

// advise says what the service does not have from its manager.
func (c *installCommand) advise(ctx context.Context, m manager) {
	if yes, known := m.linger(ctx); known && !yes {
		c.p.say("at your last logout the service and all tasks end; `loginctl enable-linger` lets them go on")
	}
}

// restartHint says how a running daemon of the old binary is replaced: by the one
// in dir, and the PATH may lead to another.
func (c *installCommand) restartHint(ctx context.Context, dir string) {
	if status, err := c.p.look(ctx); err == nil && status != nil {
		c.p.say("the running daemon is the one of before: `%s daemon restart` replaces it, tasks go on", quote(filepath.Join(dir, "sidetask")))
	}
}
