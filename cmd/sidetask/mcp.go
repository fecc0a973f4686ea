package main

import (
	"context"
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
long as this runs, so that any MCP client can use it.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.mcp(cmd.Context())
		},
	}
}

func (p *program) mcp(ctx context.Context) error {
	o, err := p.options()
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return fail("start it in a folder that exists", "find the working directory: %w", err)
	}
	err = mcp.Run(ctx, mcp.Options{
		In: p.stdin, Out: p.stdout,
		Socket: o.Socket, Token: os.Getenv("SIDETASK_TOKEN"), Version: o.Version, Autostart: o.Autostart,
		Cwd: dir, Env: p.environment(),
	})
	if i, ok := stopped(ctx); ok {
		return exit(i.status())
	}
	return err
}
