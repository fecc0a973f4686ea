package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"sidetask/mcp"
)

func (p *program) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Be the MCP server of one agent, on stdio",
		Long: `Be the MCP server of one agent, on stdio. "sidetask acp" gives the agent's
identity in the environment. Without one the agent is an owner of its own for as
long as this runs, so that any MCP client can use it: nothing wakes that agent (it
is told of an end with its next call), and at the end of the input its tasks are
killed, and they and their output are gone from the lists.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.mcp(cmd.Context())
		},
	}
}

func (p *program) mcp(ctx context.Context) error {
	if _, isTerminal := terminal(p.stdin); isTerminal {
		p.say("this speaks MCP with an agent on stdin and stdout; it is what the agent runs")
	}
	o, err := p.options()
	if err != nil {
		return err
	}
	options := mcp.Options{
		In: p.stdin, Out: p.stdout,
		Socket: o.Socket, Token: os.Getenv("SIDETASK_TOKEN"), Version: o.Version, Autostart: o.Autostart,
		Log: slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if options.Token == "" { // where the tasks of an owner of its own run
		options.Env = p.environment()
		if options.Cwd, err = os.Getwd(); err != nil {
			return fail("start it in a folder that exists", "find the working directory: %w", err)
		}
		if err := carried(options.Cwd); err != nil {
			return fail("rename it, or start it in another one", "%w", err)
		}
	}
	err = mcp.Run(ctx, options)
	if i, ok := stopped(ctx); ok {
		return exit(i.status())
	}
	return err
}
