package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sidetask/config"
	"sidetask/paths"
)

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Make, check and show the configuration (none of it needs a daemon)",
		RunE:  help,
	}
	cmd.AddCommand(p.configInitCommand(), p.configCheckCommand(), p.configShowCommand(), p.configPathCommand())
	return cmd
}

// configFile is the file that the daemon reads.
func configFile() (string, error) {
	where, err := paths.Find()
	// A socket path that is too long is no trouble of this command.
	if where.Config == "" {
		return "", err
	}
	return where.Config, nil
}

func (p *program) configPathCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "path",
		Short: "Print which file is read",
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			path, err := configFile()
			if err != nil {
				return err
			}
			return p.print("%s\n", path)
		},
	}
}

func (p *program) configInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Write a commented file that changes nothing yet",
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			path, err := configFile()
			if err != nil {
				return err
			}
			if err := writeNew(path, config.Commented()); err != nil {
				return err
			}
			return p.print("%s\n", path)
		},
	}
}

// writeNew writes a file that must not be there yet, whole or not at all: a
// daemon may be watching the folder.
func writeNew(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail("make the folder, or set SIDETASK_CONFIG", "make the folder of the configuration: %w", err)
	}
	temporary, err := os.CreateTemp(dir, ".config-*")
	if err != nil {
		return fail("make the folder writable, or set SIDETASK_CONFIG", "write the configuration: %w", err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Close()); err != nil {
		return fail("make room and try again", "write the configuration: %w", err)
	}
	// Unlike a rename, a link does not replace what is there.
	err = os.Link(temporary.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		return fail("edit that one, or move it away first", "%s is there already", path)
	}
	return err
}

func (p *program) configCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say whether a file is valid, and all that is wrong with it",
		Args:  takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := configFile()
			if len(args) == 1 {
				path, err = args[0], nil
				if _, statErr := os.Stat(path); statErr != nil {
					return fail("give the path of a file that is there", "%w", statErr)
				}
			}
			if err != nil {
				return err
			}
			settings, _, err := load(path)
			if err != nil {
				return err
			}
			if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
				p.say("%s does not exist: the defaults are in force", path)
				return nil
			}
			p.say("%s is valid", path)
			for _, text := range deadPolicies(settings) {
				p.say("%s", text)
			}
			return nil
		},
	}
}

// load loads a file; a bad one is exit status 78.
func load(path string) (*config.Settings, config.Origins, error) {
	settings, origins, err := config.Load(path)
	var bad config.Errors
	if errors.As(err, &bad) {
		return nil, nil, badConfig(bad)
	}
	return settings, origins, err
}

// settingJSON is a setting as --json prints it.
type settingJSON struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

func (p *program) configShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the resolved settings and where each comes from",
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			path, err := configFile()
			if err != nil {
				return err
			}
			settings, origins, err := load(path)
			if err != nil {
				return err
			}
			return p.printSettings(path, config.List(settings, origins), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func (p *program) printSettings(path string, settings []config.Setting, asJSON bool) error {
	if asJSON {
		list := make([]settingJSON, 0, len(settings))
		for _, s := range settings {
			list = append(list, settingJSON(s))
		}
		return p.printJSON(struct {
			Version  int           `json:"version"`
			Path     string        `json:"path"`
			Settings []settingJSON `json:"settings"`
		}{jsonVersion, path, list})
	}
	rows := make([][]string, 0, len(settings))
	for _, s := range settings {
		value, err := json.Marshal(s.Value)
		if err != nil {
			return fmt.Errorf("setting %s: %w", s.Key, err)
		}
		rows = append(rows, []string{s.Key + " = " + string(value), s.Origin})
	}
	return p.printRows(rows, false)
}
