package main

import (
	"github.com/spf13/cobra"

	"sidetask/rpc"
)

func (p *program) pruneCommand() *cobra.Command {
	var older span
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove finished tasks and their output now",
		Long: `Remove finished tasks and their output. What lives, has processes left or has a
notice for an agent that is still there stays.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result rpc.TaskPruned
			if err := p.call(cmd.Context(), rpc.MethodTaskPrune, rpc.TaskPrune{OlderMs: older.ms()}, &result); err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(struct {
					Version int   `json:"version"`
					Removed int   `json:"removed"`
					Bytes   int64 `json:"bytes"`
				}{jsonVersion, result.Removed, result.Bytes})
			}
			return p.print("removed %s, %s of output\n", count(result.Removed, "task"), size(result.Bytes))
		},
	}
	cmd.Flags().Var(&older, "older", "only those that ended longer ago than this, such as 7d")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}
