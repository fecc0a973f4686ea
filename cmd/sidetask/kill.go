package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// killFlags are the flags of `sidetask kill`.
type killFlags struct {
	all, asJSON bool
	as          rpc.As
	reason      string
}

func (p *program) killCommand() *cobra.Command {
	var f killFlags
	cmd := &cobra.Command{
		Use:   "kill ID... | --session S | --all",
		Short: "Stop tasks: the whole process tree, TERM and then KILL",
		Long: `Stop tasks, and what an ended one has left running. It only asks for the end, and
returns at once: ` + "`sidetask wait`" + ` waits for it. An agent whose task you
stop is told so: "killed by the user".`,
		ValidArgsFunction: p.taskIDs(liveTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclude(cmd, "all", "session"); err != nil {
				return err
			}
			if err := agentAlone(f.as); err != nil {
				return err
			}
			return p.kill(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "all tasks of everybody")
	p.sessionFlags(cmd, &f.as, "all tasks of the agent with this session")
	flags.StringVarP(&f.reason, "reason", "r", "", "why; the task's owner reads it")
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

// killedJSON is what became of one kill, as --json prints it.
type killedJSON struct {
	Outcome string   `json:"outcome"` // cancellation-requested, already-finished
	Task    taskJSON `json:"task"`
}

func (p *program) kill(ctx context.Context, f killFlags, ids []string) error {
	const example = "for example: sidetask kill bash-1, sidetask kill --session S, or sidetask kill --all"
	many := f.all || f.as.Session != ""
	switch {
	case many && len(ids) > 0:
		return misuse(example, "ids together with --all or --session")
	case !many && len(ids) == 0:
		return misuse(example, "no task to kill")
	}
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if f.as, err = namedOwner(ctx, c.Call, f.as); err != nil {
		return err
	}
	if many {
		tasks, err := listTasks(ctx, c.Call)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if (!t.Status.Terminal() || leftovers(t) > 0) && of(t, f.as) {
				ids = append(ids, t.ID)
			}
		}
		if len(ids) == 0 {
			p.say("nothing to kill")
		}
	}
	return p.killEach(ctx, c.Call, f, ids)
}

// killEach kills one after another; that one could not be spares no other.
func (p *program) killEach(ctx context.Context, call caller, f killFlags, ids []string) error {
	var failed error
	killed := []killedJSON{}
	for _, id := range ids {
		params := rpc.TaskKill{TaskRef: rpc.TaskRef{ID: id}}
		if f.reason != "" {
			params.Reason = &f.reason
		}
		var before rpc.TaskResult // what it had left running: afterwards that may be gone
		var result rpc.TaskKillResult
		err := call(ctx, rpc.MethodTaskGet, params.TaskRef, &before)
		if err == nil {
			err = call(ctx, rpc.MethodTaskKill, params, &result)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		killed = append(killed, killedJSON{result.Outcome, jsonTask(result.Task, time.Now())})
		if !f.asJSON {
			if err := p.printText(killText(result, leftovers(before.Task))); err != nil {
				return err
			}
		}
	}
	if f.asJSON {
		failed = errors.Join(failed, p.printJSON(struct {
			Version int          `json:"version"`
			Tasks   []killedJSON `json:"tasks"`
		}{jsonVersion, killed}))
	}
	return failed
}

// killText is what the model would read, and what it does not care about: the
// end of what an ended task had left running.
func killText(r rpc.TaskKillResult, left int) string {
	text := textOf(r.Content)
	if left > 0 && r.Outcome == rpc.KillAlreadyFinished {
		text += "\nending " + count(left, "process") + " that it had left running"
	}
	return text
}
