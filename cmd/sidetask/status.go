package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// statusJSON is `status --json`.
type statusJSON struct {
	Version    int            `json:"version"`
	PID        int            `json:"pid"`
	Daemon     string         `json:"daemon"` // its version
	Executable string         `json:"executable"`
	Socket     string         `json:"socket"`
	StateDir   string         `json:"stateDir"`
	StartedAt  string         `json:"startedAt"`
	UptimeMs   int64          `json:"uptimeMs"`
	Supervisor string         `json:"supervisor"`
	Tasks      rpc.TaskCounts `json:"tasks"`
	Owners     int            `json:"owners"`
	Clients    []rpc.Client   `json:"clients"`
	RSSBytes   int64          `json:"rssBytes"`
	DiskBytes  int64          `json:"diskBytes"`
	Config     configJSON     `json:"config"`
	Warnings   []string       `json:"warnings"`
}

type configJSON struct {
	Path      string   `json:"path"`
	Present   bool     `json:"present"`
	Watch     string   `json:"watch"`
	Errors    []string `json:"errors"`
	ChangedAt string   `json:"changedAt,omitempty"`
}

func (p *program) statusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print how the daemon is: tasks, clients, configuration, disk, warnings",
		Long: `Print how the daemon is, one line a subject: its process, where it listens and
keeps things, tasks, owners, memory and disk, the configuration with what was
refused of it, each other client with what was decided for it, and warnings.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s rpc.DaemonStatus
			if err := p.call(cmd.Context(), rpc.MethodDaemonStatus, rpc.Empty{}, &s); err != nil {
				return err
			}
			s.Clients = slices.DeleteFunc(s.Clients, itself)
			if asJSON {
				return p.printJSON(statusJSON{
					jsonVersion, s.PID, s.Version, s.Executable, s.Socket, s.StateDir,
					stamp(s.StartedAt), s.UptimeMs, s.Supervisor, s.Tasks, s.Owners,
					append([]rpc.Client{}, s.Clients...), s.RSSBytes, s.DiskBytes,
					configJSON{s.Config.Path, s.Config.Present, s.Config.Watch, append([]string{}, s.Config.Errors...), stamp(s.Config.Changed)},
					append([]string{}, s.Warnings...),
				})
			}
			return p.printStatus(s, time.Now())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// itself reports whether a client of the daemon is this command.
func itself(c rpc.Client) bool { return c.PID == os.Getpid() && c.Name == clientName }

func (p *program) printStatus(s rpc.DaemonStatus, now time.Time) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("daemon", "pid %d, version %s, up %s (%s)", s.PID, s.Version, short(time.Duration(s.UptimeMs)*time.Millisecond), s.Supervisor)
	line("program", "%s", s.Executable)
	line("socket", "%s", s.Socket)
	line("state", "%s", s.StateDir)
	if s.Supervisor == "autostart" {
		line("log", "%s", filepath.Join(s.StateDir, "daemon.log"))
	}
	line("tasks", "%s", taskCounts(s.Tasks))
	line("owners", "%d", s.Owners)
	line("memory", "%s", size(s.RSSBytes))
	line("disk", "%s of output", size(s.DiskBytes))
	line("config", "%s", configText(s.Config, now))
	for _, text := range s.Config.Errors {
		line("", "refused: %s", text)
	}
	for _, c := range s.Clients {
		line("client", "%s", clientText(c))
	}
	for _, w := range s.Warnings {
		line("warning", "%s", w)
	}
	return p.print("%s", b.String())
}

func taskCounts(c rpc.TaskCounts) string {
	text := fmt.Sprintf("%d running, %d stopping, %d finished", c.Running, c.Stopping, c.Finished)
	if c.Leftovers > 0 {
		text += fmt.Sprintf(" (%d with processes left: `sidetask ls` shows them)", c.Leftovers)
	}
	return text
}

func configText(c rpc.ConfigState, now time.Time) string {
	text := c.Path
	if !c.Present {
		text += " (no such file: the defaults are in force)"
	} else if c.Changed != 0 {
		text += " (in force since " + clock(c.Changed, now) + ")"
	}
	if c.Watch != "" {
		text += ", watched by " + c.Watch
	}
	return text
}

func clientText(c rpc.Client) string {
	text := dash(c.Name)
	if c.Version != "" {
		text += " " + c.Version
	}
	if c.PID != 0 {
		text += fmt.Sprintf(", pid %d", c.PID)
	}
	if c.Notes != "" {
		text += ": " + c.Notes
	}
	return text
}
