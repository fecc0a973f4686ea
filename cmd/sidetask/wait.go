package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// waitFlags are the flags of `sidetask wait`.
type waitFlags struct {
	timeout span
	asJSON  bool
}

func (p *program) waitCommand() *cobra.Command {
	var f waitFlags
	cmd := &cobra.Command{
		Use:   "wait ID...",
		Short: "Wait until tasks have ended, and exit as the last one did",
		Long: `Wait until all of the tasks have ended, print how, and exit as the command of
the last one named did (128+n if signal n ended it). 124: they did not end in time.
For a task that is no command: 0 completed, 143 killed, 1 failed.
You take nothing from an agent by waiting.`,
		ValidArgsFunction: p.taskIDs(anyTask),
		Args:              takes(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.wait(cmd.Context(), f, args)
		},
	}
	cmd.Flags().Var(&f.timeout, "timeout", "no longer than this")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

func (p *program) wait(ctx context.Context, f waitFlags, ids []string) error {
	l, err := p.link(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	tasks := make([]rpc.Task, len(ids))
	for i, id := range ids { // a wrong id is said now and not when the others have ended
		if tasks[i], err = l.get(ctx, id); err != nil {
			return err
		}
	}
	var deadline time.Time
	if f.timeout != 0 {
		deadline = time.Now().Add(time.Duration(f.timeout))
	}
	// All have ended when each has, so one after another will do.
	for i, id := range ids {
		tasks[i], err = l.wait(ctx, id, deadline)
		if err != nil {
			return p.leave(ctx, l, err, id)
		}
	}
	if err := p.printEnds(f, tasks); err != nil {
		return err
	}
	for _, t := range tasks {
		if !t.Status.Terminal() {
			p.say("%s has not ended within %v", t.ID, time.Duration(f.timeout))
			return exit(statusTimeout)
		}
	}
	return ended(tasks[len(tasks)-1])
}

func (p *program) printEnds(f waitFlags, tasks []rpc.Task) error {
	if f.asJSON {
		return p.printJSON(struct {
			Version int        `json:"version"`
			Tasks   []taskJSON `json:"tasks"`
		}{jsonVersion, jsonTasks(tasks, time.Now())})
	}
	for _, t := range tasks {
		if err := p.print("%s: %s\n", t.ID, statusText(t)); err != nil {
			return err
		}
	}
	return nil
}
