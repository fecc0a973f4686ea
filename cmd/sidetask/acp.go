package main

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"sidetask/acp"
	"sidetask/scope"
)

// acpFlags are the flags of `sidetask acp`.
type acpFlags struct {
	preset, trace string
}

func (p *program) acpCommand() *cobra.Command {
	var f acpFlags
	cmd := &cobra.Command{
		Use:   "acp [flags] -- AGENT ARGS...",
		Short: "Be the ACP proxy between an editor and an agent, on stdio",
		Long: `Be the ACP proxy between an editor and an agent, on stdio: what the editor runs
instead of the agent's own command. The agent gets task tools, and is woken when
a task ends. Without AGENT it is a component of an ACP chain.`,
		Example: "  sidetask acp -- claude-agent-acp\n  sidetask acp --preset /review -- codex-acp",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.acp(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows AGENT is AGENT's
	flags.StringVar(&f.preset, "preset", "/", "the scope of the mount that serves the agent")
	flags.StringVar(&f.trace, "trace", "", "write both directions to this file, one JSON object a line, secrets masked")
	return cmd
}

func (p *program) acp(ctx context.Context, f acpFlags, agent []string) error {
	at, err := parsePreset(f.preset)
	if err != nil {
		return err
	}
	if _, isTerminal := terminal(p.stdin); isTerminal {
		p.say("this speaks ACP with an editor on stdin and stdout; it is what the editor runs instead of the agent")
	}
	o, err := p.options()
	if err != nil {
		return err
	}
	o.Name = "sidetask acp"
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	options := acp.Options{
		In: p.stdin, Out: p.stdout, Err: p.stderr,
		Agent: agent, Scope: string(at), Executable: exe, Socket: o.Socket,
		Env: os.Environ(), Connect: acp.Over(o),
	}
	if f.trace != "" {
		file, err := openTrace(f.trace)
		if err != nil { // an editor would have no agent for want of it
			p.say("acp: no trace, the chat goes on without: %v", err)
		} else {
			defer func() { _ = file.Close() }()
			options.Trace = file
		}
	}
	status, err := acp.Run(ctx, options)
	if err != nil {
		return &failure{status, err, ""} // it says what to do itself
	}
	if status != 0 {
		if status < 128 { // else it was ended, often by us at the end
			p.say("the agent %s has ended (exit status %d); run it by itself to see why", agent[0], status)
		}
		return exit(status)
	}
	return nil
}

// parsePreset reads the scope that --preset names.
func parsePreset(preset string) (scope.Path, error) {
	at, err := scope.Parse(preset)
	if err != nil {
		return "", misuse("for example: --preset /review", "--preset: %w", err)
	}
	return at, nil
}

// openTrace opens a trace for nobody else to read, be it an older one that others
// could. One that nobody reads must not hold up the start.
func openTrace(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
