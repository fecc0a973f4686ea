package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetask/config"
	"sidetask/paths"
	"sidetask/systemd"
)

type installCommand struct {
	p       *program
	bin     string
	systemd bool
	editor  string
	write   bool
	preset  string
}

func (p *program) installCommand() *cobra.Command {
	c := &installCommand{p: p}
	cmd := &cobra.Command{
		Use:   "install [--systemd] | --editor NAME [--write] [--preset /SCOPE] [-- AGENT ARGS…]",
		Short: "Put the program in its place, make it a user service, print an editor's entry",
		Long: `Copies sidetask and sidetask-keeper to ~/.local/bin. With --systemd it also
writes the user units, enables the socket, and says what else the service wants:
then the daemon is there from your login on, and tasks outlive its stop. It may
be repeated.

With --editor it prints the entry that makes an editor run its agent through
sidetask, and where that goes; it installs nothing. The agent is the one after
--, or the first known one on the PATH; --bin says where sidetask was installed.
--write puts it into Zed's settings, keeping comments and a copy.`,
		Example: `  sidetask install --systemd
  sidetask install --editor zed --write
  sidetask install --editor neovim -- codex-acp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("preset") {
				if _, err := parsePreset(c.preset); err != nil {
					return err
				}
			}
			if err := exclude(cmd, "systemd", "editor"); err != nil {
				return err
			}
			if c.editor != "" {
				return c.showEntry(args)
			}
			if len(args) > 0 || c.write || c.preset != "" {
				return misuse("such as `sidetask install --editor zed --write`", "an agent, --write and --preset go with --editor")
			}
			return c.install(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&c.systemd, "systemd", false, "write and enable the user units")
	cmd.Flags().StringVar(&c.bin, "bin", "", "the folder for the binaries (default ~/.local/bin)")
	cmd.Flags().StringVar(&c.editor, "editor", "", "print the entry for "+strings.Join(editors, ", "))
	_ = cmd.RegisterFlagCompletionFunc("editor", cobra.FixedCompletions(editors, cobra.ShellCompDirectiveNoFileComp)) // fails only for a flag that is not there
	cmd.Flags().BoolVar(&c.write, "write", false, "write the entry into Zed's settings")
	cmd.Flags().StringVar(&c.preset, "preset", "", "the scope whose mount serves the editor's sessions")
	return cmd
}

// showEntry prints an editor's entry, or writes Zed's.
func (c *installCommand) showEntry(args []string) error {
	program, err := c.installed()
	if err != nil {
		return err
	}
	chosen, doubt := chooseAgent(args)
	e := entry{agent: chosen, program: program, preset: c.preset}
	text, where, err := e.text(c.editor)
	if err != nil {
		return err
	}
	for _, line := range doubt {
		c.p.say("%s", line)
	}
	if !c.write {
		c.p.say("this goes into %s:", where)
		return c.p.print("%s", text)
	}
	if c.editor != "zed" {
		return misuse("without --write the entry is printed", "only Zed's settings can be written, not those of %s", c.editor)
	}
	path, err := zedSettings()
	if err != nil {
		return err
	}
	changed, backup, err := e.writeZed(path, time.Now())
	switch {
	case err != nil:
		return err
	case !changed:
		c.p.say("%s has %q already", tilde(path), e.title())
	case backup != "":
		c.p.say("%s has %q now; what it was before is in %s", tilde(path), e.title(), tilde(backup))
	default:
		c.p.say("%s has %q now", tilde(path), e.title())
	}
	return nil
}

// folder is where the binaries go.
func (c *installCommand) folder() (string, error) {
	if c.bin != "" {
		return filepath.Abs(c.bin)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fail("set HOME, or name the folder with --bin", "no place to install to: %w", err)
	}
	return filepath.Join(home, ".local", "bin"), nil
}

// installed is the program that an editor is to run: the installed one if there
// is one, else this one. Where --bin says that there is one, there must be.
func (c *installCommand) installed() (string, error) {
	dir, err := c.folder()
	if err == nil {
		var info os.FileInfo
		info, err = os.Stat(filepath.Join(dir, "sidetask"))
		if err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, "sidetask"), nil
		}
	}
	if c.bin != "" {
		return "", fail("`sidetask install --bin "+quote(c.bin)+"` brings it there", "no sidetask in the folder of --bin: %s", dir)
	}
	return os.Executable()
}

func (c *installCommand) install(ctx context.Context) error {
	dir, err := c.folder()
	if err != nil {
		return err
	}
	m, err := findManager()
	if err != nil {
		return err
	}
	if c.systemd { // before anything is written
		if err := m.check(ctx); err != nil {
			return err
		}
		if err := c.checkConfig(); err != nil {
			return err
		}
	}
	changed, err := c.copyBinaries(dir)
	if err != nil {
		return err
	}
	if c.systemd {
		written, err := c.writeUnits(ctx, m, dir)
		if err != nil {
			return err
		}
		if err := c.enable(ctx, m, changed || written); err != nil {
			return err
		}
		c.advise(ctx, m)
	} else if changed {
		c.restartHint(ctx, dir)
	}
	if !onPath(dir, os.Getenv("PATH")) {
		c.p.say("%s is not in your PATH: add it in your shell's profile", tilde(dir))
	}
	return nil
}

// checkConfig refuses a file with which the service could not start: the daemon
// that serves now would have gone for nothing.
func (c *installCommand) checkConfig() error {
	where, err := paths.Find()
	if err != nil {
		return err
	}
	_, _, err = config.Load(where.Config)
	if bad := (config.Errors{}); errors.As(err, &bad) {
		return badConfig(bad)
	}
	return err
}

// copyBinaries brings both programs to dir and says whether one changed.
func (c *installCommand) copyBinaries(dir string) (changed bool, err error) {
	if foreign := foreignBinaries(dir); len(foreign) > 0 { // nothing is replaced then
		return false, fail("move it away, or name another folder with --bin", "%s is another program's, or not as Go builds it", tilde(foreign[0]))
	}
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return false, fmt.Errorf("find this program's file: %w", err)
	}
	// The keeper first: a new daemon must not meet an old one.
	for _, name := range slices.Backward(binaries) {
		from := filepath.Join(filepath.Dir(self), name)
		if name == "sidetask" {
			from = self
		}
		if _, err := os.Stat(from); errors.Is(err, os.ErrNotExist) {
			return false, fail("build both with `go install ./cmd/...`, or run scripts/install", "%s is not beside this program: %w", name, err)
		}
		one, err := copyProgram(from, filepath.Join(dir, name))
		if err != nil {
			return false, fail("see to it that you may write there, or name another folder with --bin", "%s cannot be put into %s: %w", name, dir, err)
		}
		c.tellFile(filepath.Join(dir, name), "is installed", one)
		changed = changed || one
	}
	return changed, nil
}

// tellFile says what was done to a file, where that was anything.
func (c *installCommand) tellFile(path, done string, changed bool) {
	if !changed {
		done = "is up to date"
	}
	c.p.say("%s %s", tilde(path), done)
}

// writeUnits writes the two unit files, and has the manager read them.
func (c *installCommand) writeUnits(ctx context.Context, m manager, dir string) (changed bool, err error) {
	binary := filepath.Join(dir, "sidetask")
	if home, err := os.UserHomeDir(); err == nil && dir == filepath.Join(home, ".local", "bin") {
		binary = "%h/.local/bin/sidetask"
	}
	for _, name := range []string{systemd.SocketUnit, systemd.ServiceUnit} {
		text, err := systemd.Unit(name, binary)
		if err != nil {
			return changed, err
		}
		path := filepath.Join(m.units, name)
		one, err := updateFile(path, text, 0o644)
		if err != nil {
			return changed, err
		}
		c.tellFile(path, "is written", one)
		changed = changed || one
	}
	if _, err := m.ctl(ctx, "daemon-reload"); err != nil {
		return changed, err
	}
	return changed, nil
}
