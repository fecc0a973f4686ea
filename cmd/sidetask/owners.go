package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
		Args:  takes(0, 0),
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
	_, isTerminal := terminal(p.stdout)
	var rows [][]string
	if isTerminal && len(owners) > 0 {
		rows = append(rows, []string{"OWNER", "AGENT", "SESSION", "STATUS", "SCOPE", "MOUNT", "TASKS", "NOTICES", "WAKES LEFT", "LAST WOKEN"})
	}
	for _, o := range owners {
		woken := "-"
		if n := len(o.Wakes); n > 0 {
			last := o.Wakes[n-1]
			woken = clock(last.At, now) + " by " + strings.Join(last.Tasks, ", ")
		}
		rows = append(rows, []string{
			o.Owner, dash(o.Agent), dash(o.Session), o.Status, o.Scope, dash(o.Mount),
			fmt.Sprint(o.Tasks), fmt.Sprint(o.Pending), fmt.Sprint(o.BudgetLeft), woken,
		})
	}
	return p.printRows(rows)
}

// dash stands for nothing in a column.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
