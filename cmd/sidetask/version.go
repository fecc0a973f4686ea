package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// linkedVersion is set by the linker (-X main.linkedVersion=v1.2.3) for a
// release; never changed at run time.
var linkedVersion string

// version of this program: the linker's, else what Go noted at the build.
func version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return p.printJSON(struct {
					Version int    `json:"version"`
					Program string `json:"program"`
				}{jsonVersion, version()})
			}
			return p.print("sidetask %s\n", version())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
