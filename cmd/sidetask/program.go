package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// program is one run of the command line. Commands keep their flags in a struct
// of their own and get this for everything that they share.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	noAutostart bool
}

// run is the whole program: it executes args and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return p.report(ctx, usage(err))
	}
	return 0
}

// root is the command tree.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "sidetask",
		Short:         "Background tasks for coding agents",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.PersistentFlags().BoolVar(&p.noAutostart, "no-autostart", false, "fail (exit status 69) instead of starting a daemon")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misuse("`"+cmd.CommandPath()+" --help` shows how it is used", "%w", err)
	})
	root.AddCommand(
		p.runCommand(), p.lsCommand(), p.tailCommand(), p.outputCommand(), p.waitCommand(), p.killCommand(),
		p.writeCommand(), p.attachCommand(), p.pruneCommand(),
		p.noticesCommand(), p.ownersCommand(), p.statusCommand(),
		p.daemonCommand(), p.configCommand(), p.acpCommand(), p.mcpCommand(),
		p.installCommand(), p.uninstallCommand(), p.doctorCommand(),
		p.versionCommand(),
	)
	return root
}

// usage turns the library's complaint about a command that there is none of, a
// plain error that no type tells apart, into a usage error.
func usage(err error) error {
	if strings.HasPrefix(err.Error(), "unknown command") {
		return misuse("`sidetask --help` lists the commands", "%w", err)
	}
	return err
}
