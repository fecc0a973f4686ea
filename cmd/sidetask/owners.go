package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetask/render"
	"sidetask/rpc"
)

// ownerJSON is an owner as --json prints it.
type ownerJSON struct {
	Owner      string     `json:"owner"`
	Agent      string     `json:"agent,omitempty"`
	Session    string     `json:"session,omitempty"`
	Scope      string     `json:"scope"`
	Mount      string     `json:"mount,omitempty"`
	Status     string     `json:"status"`
	Title      string     `json:"title,omitempty"`
	Cwd        string     `json:"cwd,omitempty"`
	BudgetLeft int        `json:"budgetLeft"`
	Pending    int        `json:"pending"`
	Tasks      int        `json:"tasks"`
	Wakes      []wakeJSON `json:"wakes"`
}

type wakeJSON struct {
	At    string   `json:"at"`
	Tasks []string `json:"tasks"`
}

func (p *program) ownersCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "owners",
		Short: "List the agents that are served: by which mount, woken when and why",
		Long: `List the agents that are served. On a terminal in columns, with the ids of sessions
cut where they have no room; what is shown is enough for --session. Else one line each
with tabs between: owner, agent, session, status (idle, busy, lost), scope, scope
of the mount, tasks, waiting notices, wakes left before you speak again, and when
and by which tasks it was woken last.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var result rpc.OwnerListResult
			if err := p.call(cmd.Context(), rpc.MethodOwnerList, rpc.Empty{}, &result); err != nil {
				return err
			}
			if asJSON {
				return p.printJSON(struct {
					Version int         `json:"version"`
					Owners  []ownerJSON `json:"owners"`
				}{jsonVersion, jsonOwners(result.Owners)})
			}
			return p.printOwners(result.Owners, time.Now())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func jsonOwners(owners []rpc.OwnerInfo) []ownerJSON {
	list := make([]ownerJSON, 0, len(owners))
	for _, o := range owners {
		wakes := make([]wakeJSON, 0, len(o.Wakes))
		for _, w := range o.Wakes {
			wakes = append(wakes, wakeJSON{stamp(w.At), append([]string{}, w.Tasks...)})
		}
		list = append(list, ownerJSON{
			o.Owner, o.Agent, o.Session, o.Scope, o.Mount, o.Status, o.Title, o.Cwd,
			o.BudgetLeft, o.Pending, o.Tasks, wakes,
		})
	}
	return list
}

func (p *program) printOwners(owners []rpc.OwnerInfo, now time.Time) error {
	if len(owners) == 0 {
		return nil
	}
	return p.printRows(ownerRows(owners, now, p.columns()), false)
}

// ownerRows are the rows of owners: for a terminal of that many columns with a
// heading, short names, and whole ids where there is room; for a script (0 columns)
// always the same.
func ownerRows(owners []rpc.OwnerInfo, now time.Time, columns int) [][]string {
	const session = 2
	rows := make([][]string, 0, len(owners)+1)
	if columns > 0 {
		rows = append(rows, []string{"OWNER", "AGENT", "SESSION", "STATUS", "SCOPE", "MOUNT", "TASKS", "NOTICES", "WAKES LEFT", "LAST WOKEN"})
	}
	for _, o := range owners {
		woken := "-"
		if n := len(o.Wakes); n > 0 {
			last := o.Wakes[n-1]
			woken = clock(last.At, now) + " by " + strings.Join(last.Tasks, ", ")
		}
		agent := o.Agent
		if columns > 0 {
			agent = shortAgent(agent)
		}
		rows = append(rows, []string{
			o.Owner, dash(agent), dash(o.Session), o.Status, o.Scope, dash(o.Mount),
			fmt.Sprint(o.Tasks), fmt.Sprint(o.Pending), fmt.Sprint(o.BudgetLeft), woken,
		})
	}
	if columns > 0 && needed(rows) > columns {
		for _, row := range rows[1:] {
			row[session] = abbreviate(row[session])
		}
	}
	return rows
}

// dash stands for nothing in a column.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// agentAlone refuses --agent where it only says which agent's --session is meant.
func agentAlone(as rpc.As) error {
	if as.Agent != "" && as.Session == "" {
		return misuse("give --session, too; `sidetask owners` lists them", "--agent without --session")
	}
	return nil
}

// sessions completes --session.
func (p *program) sessions(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const nothing = cobra.ShellCompDirectiveNoFileComp
	c, err := p.dialWith(cmd.Context(), false)
	if err != nil {
		return nil, nothing
	}
	defer func() { _ = c.Close() }()
	var result rpc.OwnerListResult
	if err := c.Call(cmd.Context(), rpc.MethodOwnerList, rpc.Empty{}, &result); err != nil {
		return nil, nothing
	}
	var sessions []cobra.Completion
	for _, o := range result.Owners {
		if o.Session != "" && o.Session == render.OneLine(o.Session) { // else it cannot be typed
			sessions = append(sessions, cobra.CompletionWithDesc(o.Session, render.OneLine(o.Agent+" "+o.Title)))
		}
	}
	return sessions, nothing
}

// identity is the value of a flag that must not be empty: a script whose variable was
// empty must not become the operator (docs/api.md). It is a [pflag.Value].
type identity string

func (n *identity) String() string { return string(*n) }

// Type names the value in help.
func (n *identity) Type() string { return "string" }

// Set takes text.
func (n *identity) Set(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	*n = identity(text)
	return nil
}

// sessionFlags are --session and --agent, which several commands have.
func (p *program) sessionFlags(cmd *cobra.Command, as *rpc.As, use string) {
	cmd.Flags().Var((*identity)(&as.Session), "session", use)
	cmd.Flags().Var((*identity)(&as.Agent), "agent", "the agent's name, where a session id is ambiguous")
	_ = cmd.RegisterFlagCompletionFunc("session", p.sessions) // fails only for a flag that is not there
}
