package main

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/spf13/cobra"
)

// program is one run of the command line. Commands keep their flags in a struct
// of their own and get this for everything that they share.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	noAutostart bool
	astray      sync.Once // tells of a runtime folder that is not the one asked for
}

// run is the whole program: it executes args and returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"}) // fails only for a command that is not there
	for _, shell := range completion.Commands() {
		shell.Args = takes(0, 0) // the library's own check has neither our words nor our status
	}
	err := known(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	if err != nil {
		return p.report(ctx, err)
	}
	return 0
}

// root is the command tree.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sidetask",
		Short: "Background tasks for coding agents",
		Long: `Background tasks for coding agents, and for you: start a command, look at it,
wait for it, stop it. The daemon that keeps them is started by the way.

Exit status: 0; where a command says so, that of the task (128+n if signal n ended
it); 1 an error, 2 wrong usage, 69 no daemon to be had, 78 a bad configuration,
124 time is up; 128+n if signal n ended this command.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs, // see known
		RunE:          help,
	}
	root.PersistentFlags().BoolVar(&p.noAutostart, "no-autostart", false, "fail (exit status 69) instead of starting a daemon")
	root.SetVersionTemplate("sidetask {{.Version}}\n") // as `sidetask version`
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misuse("`"+cmd.CommandPath()+" --help` shows how it is used", "%s", flagText(err))
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

// flagText is an error of the flag library without the name of the function
// that found it.
func flagText(err error) string {
	text := err.Error()
	if before, after, found := strings.Cut(text, ": strconv."); found {
		_, reason, _ := strings.Cut(after, "\": ")
		return before + ": " + reason
	}
	return text
}

// help is the RunE of a command that is nothing without one of its subcommands.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }
