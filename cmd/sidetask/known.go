package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// known refuses a command that there is none of. The library does so for some,
// and answers the others, and any with --help, with a help text and success.
func known(root *cobra.Command, args []string) error {
	cmd, rest, err := root.Find(args)
	if err != nil {
		return misuse("`sidetask --help` lists the commands", "%w", err)
	}
	if cmd.Name() == "help" {
		return known(root, rest)
	}
	if !cmd.HasAvailableSubCommands() {
		return nil
	}
	for _, arg := range rest {
		if arg == cobra.ShellCompRequestCmd || arg == cobra.ShellCompNoDescRequestCmd {
			return nil // the library adds these when they are called
		}
		if !strings.HasPrefix(arg, "-") {
			next := "`" + cmd.CommandPath() + " --help` lists the commands"
			if meant := meantBy(cmd, arg); meant != "" {
				next = "did you mean " + meant + "? " + next
			}
			return misuse(next, "unknown command %q for `%s`", arg, cmd.CommandPath())
		}
	}
	return nil
}

// otherNames are what people look for that know other programs, and what is meant.
var otherNames = map[string]string{
	"sidetask logs":          "`sidetask tail`",
	"sidetask log":           "`sidetask tail`",
	"sidetask ps":            "`sidetask ls`",
	"sidetask jobs":          "`sidetask ls`",
	"sidetask start":         "`sidetask run`",
	"sidetask stop":          "`sidetask kill`, or `sidetask daemon stop`",
	"sidetask restart":       "`sidetask daemon restart`",
	"sidetask reload":        "`sidetask daemon reload`",
	"sidetask rm":            "`sidetask prune`",
	"sidetask daemon start":  "`sidetask daemon`",
	"sidetask daemon status": "`sidetask status`",
}

// meantBy is the command that may have been meant by a word that is none of cmd's;
// "" if there is no such.
func meantBy(cmd *cobra.Command, word string) string {
	if other := otherNames[cmd.CommandPath()+" "+word]; other != "" {
		return other
	}
	cmd.SuggestionsMinimumDistance = min(2, len(word)/2) // of a short word all is little
	var found []string
	for _, name := range cmd.SuggestionsFor(word) {
		found = append(found, "`"+cmd.CommandPath()+" "+name+"`")
	}
	return strings.Join(found, " or ")
}
