package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

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
	c, err := p.dialWith(ctx, false)
	switch {
	case err == nil:
		err = c.Call(ctx, rpc.MethodDaemonRestart, rpc.DaemonRestart{Executable: exe}, nil)
		// Somebody else may be restarting or stopping it: what counts is the next one.
		if err == nil || errors.Is(err, client.ErrLost) || errors.Is(err, rpc.ErrShuttingDown) {
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
	c, err := p.dialWith(ctx, false)
	if errors.Is(err, client.ErrNoDaemon) {
		return &failure{statusNoDaemon, err, "there is nothing to reload: the next daemon reads the file when it starts"}
	}
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	p.compare(c)
	var result rpc.ConfigReloadResult
	if err := c.Call(ctx, rpc.MethodConfigReload, rpc.Empty{}, &result); err != nil {
		return err
	}
	switch {
	case len(result.Errors) > 0:
		return badConfig(fmt.Errorf("refused, the settings in force stay: %s", strings.Join(result.Errors, "\n")))
	case result.Changed:
		p.say("the new settings are in force")
	default:
		p.say("nothing has changed")
	}
	return p.lookAtShell(ctx, c.Call)
}

// lookAtShell tells of a setting that is valid and yet of no use here.
func (p *program) lookAtShell(ctx context.Context, call caller) error {
	shell, err := setting(ctx, call, "commands.shell")
	if err != nil {
		return err
	}
	if shell == "" {
		return nil
	}
	if _, err := findShell(shell); err != nil {
		p.say("%v", err)
		p.say("%s", shellAdvice)
	}
	return nil
}

// setting asks for a text among the settings in force; a daemon of another
// version may have none of that name.
func setting(ctx context.Context, call caller, key string) (string, error) {
	var result rpc.ConfigGetResult
	if err := call(ctx, rpc.MethodConfigGet, rpc.Empty{}, &result); err != nil {
		return "", err
	}
	for _, s := range result.Settings {
		if s.Key == key {
			var value string
			err := json.Unmarshal(s.Value, &value)
			return value, err
		}
	}
	return "", nil
}
