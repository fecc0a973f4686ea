package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// lsFlags are the flags of `sidetask ls`.
type lsFlags struct {
	all, asJSON, watch bool
	as                 rpc.As
}

func (p *program) lsCommand() *cobra.Command {
	var f lsFlags
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List tasks",
		Long: `List tasks: those that live, and ended ones that left processes running; with
-a all. On a terminal in columns, a wide one with the processor time (CPU), too.
Else one line a task with tabs between: id, kind, status with detail, age, time
it took, owner ("you", "everybody", or agent and session), processes left, label.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.watch {
				return p.watch(cmd.Context(), f)
			}
			var tasks []rpc.Task
			err := p.ask(cmd.Context(), func(call caller) (err error) {
				if f.as, err = namedOwner(cmd.Context(), call, f.as); err == nil {
					tasks, err = listTasks(cmd.Context(), call)
				}
				return err
			})
			if err != nil {
				return err
			}
			return p.printTasks(f, tasks, time.Now())
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.all, "all", "a", false, "finished tasks too")
	p.sessionFlags(cmd, &f.as, "only the tasks of the agent with this session")
	flags.Lookup("agent").Usage = "only the tasks of this agent"
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	flags.BoolVarP(&f.watch, "watch", "w", false, "stay, and show each change")
	return cmd
}

// caller is how a call is made: of a client or a link.
type caller func(ctx context.Context, method string, params, result any) error

// listTasks gets all pages of task/list, the operator's view: finished tasks
// too, since some have left processes running.
func listTasks(ctx context.Context, call caller) ([]rpc.Task, error) {
	tasks := []rpc.Task{}
	params := rpc.TaskList{All: true, Limit: rpc.MaxListLimit}
	for {
		var page rpc.TaskListResult
		if err := call(ctx, rpc.MethodTaskList, params, &page); err != nil {
			return nil, err
		}
		tasks = append(tasks, page.Tasks...)
		if page.Next == "" {
			return tasks, nil
		}
		params.After = page.Next
	}
}

// selects reports whether the flags want this task.
func (f lsFlags) selects(t rpc.Task) bool {
	if !f.all && t.Status.Terminal() && leftovers(t) == 0 {
		return false
	}
	return of(t, f.as)
}

// of reports whether the task belongs to that session and agent; empty means any.
func of(t rpc.Task, as rpc.As) bool {
	var o rpc.Operator
	if t.Operator != nil {
		o = *t.Operator
	}
	return (as.Session == "" || o.Session == as.Session) && (as.Agent == "" || o.Agent == as.Agent)
}

func leftovers(t rpc.Task) int {
	if t.Operator == nil {
		return 0
	}
	return t.Operator.Leftovers
}

// printTasks prints those that the flags want.
func (p *program) printTasks(f lsFlags, tasks []rpc.Task, now time.Time) error {
	wanted := make([]rpc.Task, 0, len(tasks))
	for _, t := range tasks {
		if f.selects(t) {
			wanted = append(wanted, t)
		}
	}
	if f.asJSON {
		return p.printJSON(struct {
			Version int        `json:"version"`
			Tasks   []taskJSON `json:"tasks"`
		}{jsonVersion, jsonTasks(wanted, now)})
	}
	return p.printTable(wanted, now, f.watch)
}

func (p *program) printTable(tasks []rpc.Task, now time.Time, cut bool) error {
	if len(tasks) == 0 {
		return nil
	}
	return p.printRows(taskRows(tasks, now, p.columns()), cut)
}

// wide is from how many columns on a terminal has room for the processor time.
const wide = 100

// taskRows are the rows of tasks: for a terminal of that many columns with a
// heading, and what a person wants in it; for a script (0 columns) always the same.
func taskRows(tasks []rpc.Task, now time.Time, columns int) [][]string {
	rows := make([][]string, 0, len(tasks)+1)
	if columns > 0 {
		rows = append(rows, []string{"ID", "KIND", "STATUS", "AGE", "TOOK", "CPU", "OWNER", "LEFT", "LABEL"})
	}
	for _, t := range tasks {
		owner, cpu, left := "-", "-", "-"
		if o := t.Operator; o != nil {
			agent, session := o.Agent, o.Session
			if columns > 0 {
				agent, session = shortAgent(agent), abbreviate(session)
			}
			owner = ownerName(agent, session, o.Owner)
			if o.CPUMs != nil {
				cpu = short(time.Duration(*o.CPUMs) * time.Millisecond)
			}
			if o.Leftovers > 0 {
				left = fmt.Sprint(o.Leftovers)
			}
		}
		age := short(now.Sub(time.UnixMilli(t.StartedAt)))
		rows = append(rows, []string{t.ID, t.Kind, statusText(t), age, short(duration(t, now)), cpu, owner, left, t.Label})
	}
	if columns < wide {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 5, 6)
		}
	}
	return rows
}

// ownerName is an owner for a person: agent and session, "everybody" for a
// task that is unowned, "you" for the operator's own.
func ownerName(agent, session, handle string) string {
	switch {
	case agent != "" && session != "":
		return agent + " " + session
	case agent+session != "":
		return agent + session
	case handle == "":
		return "everybody"
	case handle == "operator":
		return "you"
	}
	return handle
}
