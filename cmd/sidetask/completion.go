package main

import (
	"github.com/spf13/cobra"

	"sidetask/render"
	"sidetask/rpc"
)

// taskIDs completes ids of tasks for which want holds, with their labels. It
// starts no daemon: a press of a key is no command.
func (p *program) taskIDs(want func(rpc.Task) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const nothing = cobra.ShellCompDirectiveNoFileComp
		if cmd.Args != nil && cmd.Args(cmd, append(args, "ID")) != nil { // takes no more
			return nil, nothing
		}
		c, err := p.dialWith(cmd.Context(), false)
		if err != nil {
			return nil, nothing
		}
		defer func() { _ = c.Close() }()
		tasks, err := listTasks(cmd.Context(), c.Call)
		if err != nil {
			return nil, nothing
		}
		var ids []cobra.Completion
		for _, t := range tasks {
			if want(t) {
				ids = append(ids, cobra.CompletionWithDesc(t.ID, render.OneLine(statusText(t)+", "+t.Label)))
			}
		}
		return ids, nothing
	}
}

// anyTask and liveTask are what [program.taskIDs] selects.
func anyTask(rpc.Task) bool { return true }

func liveTask(t rpc.Task) bool { return !t.Status.Terminal() || leftovers(t) > 0 }
