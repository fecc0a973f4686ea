package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// takes refuses a number of arguments that is not between least and most (-1:
// any), in a sentence that says how the command is used.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		next := "usage: " + cmd.UseLine()
		switch {
		case len(args) < least:
			return misuse(next, "`%s` needs %s", cmd.CommandPath(), missing(cmd, len(args)))
		case most >= 0 && len(args) > most:
			return misuse(next, "%q is too much for `%s`", args[most], cmd.CommandPath())
		}
		return nil
	}
}

// missing names the argument at place i in the command's usage.
func missing(cmd *cobra.Command, i int) string {
	names := strings.Fields(cmd.Use)[1:]
	if i >= len(names) {
		return "another argument"
	}
	return strings.TrimSuffix(names[i], "...")
}

// exclude refuses flags that were given together and cannot both be meant.
func exclude(cmd *cobra.Command, names ...string) error {
	var given []string
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) < 2 {
		return nil
	}
	return misuse("leave one of them out", "%s exclude each other", strings.Join(given, " and "))
}
