package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// outputFlags are the flags of `sidetask output`.
type outputFlags struct {
	wait, asJSON bool
	timeout      span
	as           rpc.As
}

func (p *program) outputCommand() *cobra.Command {
	var f outputFlags
	cmd := &cobra.Command{
		Use:   "output ID",
		Short: "Print what the model's task_output would show",
		Long: `Print what the model's task_output would show: what is new since the last
time, and the status. You have a cursor of your own. With --session it is that
agent's read: what you see here, it will not see again.`,
		ValidArgsFunction: p.taskIDs(anyTask),
		Args:              takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := agentAlone(f.as); err != nil {
				return err
			}
			return p.output(cmd.Context(), f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.wait, "wait", false, "wait for the task's end first")
	flags.Var(&f.timeout, "timeout", "with --wait: no longer than this")
	p.sessionFlags(cmd, &f.as, "read as the agent with this session (consumes)")
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

func (p *program) output(ctx context.Context, f outputFlags, id string) error {
	params := rpc.TaskOutput{TaskRef: rpc.TaskRef{As: f.as, ID: id}, Wait: f.wait}
	if f.timeout != 0 {
		params.Wait, params.TimeoutMs = true, number(min(f.timeout.ms(), longWait))
	} else if f.wait {
		params.TimeoutMs = number(longWait)
	}
	var result rpc.TaskOutputResult
	err := p.ask(ctx, func(call caller) (err error) {
		if params.As, err = namedOwner(ctx, call, params.As); err == nil {
			err = call(ctx, rpc.MethodTaskOutput, params, &result)
		}
		return err
	})
	if err != nil {
		return err
	}
	if f.asJSON {
		return p.printJSON(struct {
			Version int      `json:"version"`
			Text    string   `json:"text"`
			Task    taskJSON `json:"task"`
		}{jsonVersion, result.Text, jsonTask(result.Task, time.Now())})
	}
	return p.printText(textOf(result.Content))
}

// textOf is the text of a result's content blocks.
func textOf(content []rpc.Content) string {
	var texts []string
	for _, block := range content {
		texts = append(texts, block.Text)
	}
	return strings.Join(texts, "\n")
}
