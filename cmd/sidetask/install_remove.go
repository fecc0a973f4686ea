package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sidetask/paths"
	"sidetask/rpc"
	"sidetask/rpc/client"
	"sidetask/systemd"
)

func (p *program) uninstallCommand() *cobra.Command {
	c := &installCommand{p: p}
	var kill bool
	cmd := &cobra.Command{
		Use:   "uninstall [--kill]",
		Short: "Take back what install did, and say where the data are",
		Long: `Ends the daemon, disables and removes the user units and the binaries in ~/.local/bin.
Configuration, output and finished tasks stay: it says where they are. It refuses
while tasks run, unless --kill is given, which ends them.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.uninstall(cmd.Context(), kill)
		},
	}
	cmd.Flags().StringVar(&c.bin, "bin", "", "the folder of the binaries (default ~/.local/bin)")
	cmd.Flags().BoolVar(&kill, "kill", false, "end the tasks that run")
	return cmd
}

func (c *installCommand) uninstall(ctx context.Context, kill bool) error {
	dir, err := c.folder()
	if err != nil {
		return err
	}
	m, err := findManager()
	if err != nil {
		return err
	}
	if err := c.endTasks(ctx, kill); err != nil {
		return err
	}
	if err := c.removeUnits(ctx, m); err != nil {
		return err
	}
	foreign := foreignBinaries(dir)
	removed := false
	for _, name := range binaries {
		path := filepath.Join(dir, name)
		if slices.Contains(foreign, path) {
			c.p.say("%s stays: it is another program's", tilde(path))
			continue
		}
		if gone, err := removeFile(path); err != nil {
			return err
		} else if gone {
			removed = true
			c.p.say("%s is removed", tilde(path))
		}
	}
	c.tellData()
	if removed {
		c.p.say("an editor that was told to run %s needs the agent's own command again", tilde(filepath.Join(dir, "sidetask")))
	}
	return nil
}

// endTasks ends the daemon with everything that runs under it, where the person
// agreed to that.
func (c *installCommand) endTasks(ctx context.Context, kill bool) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	status, err := c.p.look(ctx)
	if err != nil || status == nil {
		return err
	}
	live := status.Tasks.Running + status.Tasks.Stopping
	if live+status.Tasks.Leftovers > 0 && !kill {
		return fail("end them with `sidetask kill --all` (`sidetask ls` shows them), or say `sidetask uninstall --kill`",
			"%s", stillThere(live, status.Tasks.Leftovers))
	}
	keep := false
	if _, _, err := c.p.endDaemon(ctx, rpc.DaemonStop{KeepTasks: &keep}); err != nil && !errors.Is(err, client.ErrNoDaemon) {
		return err
	}
	c.p.say("the daemon has ended")
	return nil
}

// stillThere says what would be ended: tasks that run, and what ended ones left.
func stillThere(live, left int) string {
	var parts []string
	if live > 0 {
		parts = append(parts, count(live, "running task"))
	}
	if left > 0 {
		parts = append(parts, count(left, "ended task")+" with processes left running")
	}
	return "not yet ended: " + strings.Join(parts, " and ")
}

// removeUnits has the manager forget the service. The socket goes first: any client
// would start the daemon again.
func (c *installCommand) removeUnits(ctx context.Context, m manager) error {
	var present []string
	for _, name := range []string{systemd.SocketUnit, systemd.ServiceUnit} {
		if _, err := os.Stat(filepath.Join(m.units, name)); err == nil {
			present = append(present, name)
		}
	}
	if len(present) == 0 {
		return nil
	}
	if err := m.check(ctx); err != nil {
		return err
	}
	if _, err := m.ctl(ctx, append([]string{"disable", "--now"}, present...)...); err != nil {
		return err
	}
	for _, name := range present {
		path := filepath.Join(m.units, name)
		if _, err := removeFile(path); err != nil {
			return err
		}
		c.p.say("%s is removed", tilde(path))
	}
	if _, err := m.ctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	// Of units that never failed it only says that there is nothing to reset.
	_, _ = m.ctl(ctx, append([]string{"reset-failed"}, present...)...)
	return nil
}

// tellData says what is left, and where.
func (c *installCommand) tellData() {
	where, err := paths.Find()
	if err != nil {
		c.p.say("%v", err)
		return
	}
	if _, err := os.Stat(where.State); err == nil {
		c.p.say("finished tasks and their output stay in %s: remove that folder to be rid of them", tilde(where.State))
	}
	if _, err := os.Stat(where.Config); err == nil {
		c.p.say("the configuration stays: %s", tilde(where.Config))
	}
	if path, err := zedSettings(); err == nil {
		if text, err := os.ReadFile(path); err == nil && hasEntry(text) {
			c.p.say("%s still names sidetask under agent_servers: remove that entry there", tilde(path))
		}
	}
}
