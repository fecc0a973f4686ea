package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// noticesFlags are the flags of `sidetask notices`.
type noticesFlags struct {
	as                rpc.As
	wait, ack, asJSON bool
}

func (p *program) noticesCommand() *cobra.Command {
	var f noticesFlags
	cmd := &cobra.Command{
		Use:   "notices --session S",
		Short: "Print an agent's waiting notices, for scripts",
		Long: `Print the notices that wait for an agent. That is a look; with --ack they are
taken, and the agent will not be told of them any more.`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.as.Session == "" {
				return misuse("usage: sidetask notices --session S; `sidetask owners` lists the sessions", "whose notices?")
			}
			return p.notices(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	p.sessionFlags(cmd, &f.as, "the agent's session")
	flags.BoolVar(&f.wait, "wait", false, "wait until there is one")
	flags.BoolVar(&f.ack, "ack", false, "take them")
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

func (p *program) notices(ctx context.Context, f noticesFlags) error {
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	as, err := namedOwner(ctx, c.Call, f.as)
	if err != nil {
		return err
	}
	method, params := rpc.MethodInboxList, rpc.InboxWait{As: as}
	if f.wait {
		method, params.TimeoutMs = rpc.MethodInboxWait, number(longWait)
	}
	var look rpc.InboxNotices
	if err := c.Call(ctx, method, params, &look); err != nil {
		return err
	}
	if !f.ack {
		return p.printNotices(f, look.Notices)
	}
	// At a turn's end is what costs nothing and is never refused (ARCHITECTURE, decision 6).
	var claim rpc.InboxClaimed
	if err := c.Call(ctx, rpc.MethodInboxClaim, rpc.InboxClaim{As: as, Reason: rpc.ClaimTurnEnd}, &claim); err != nil {
		return err
	}
	// Until they are printed the lease protects them: were this to fail here, they would wait again.
	if err := p.printNotices(f, claim.Notices); err != nil || claim.Lease == "" {
		return err
	}
	return c.Call(ctx, rpc.MethodInboxAck, rpc.InboxAck{As: as, Lease: claim.Lease}, nil)
}

// noticeJSON is a notice as --json prints it.
type noticeJSON struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Summary string   `json:"summary"`
	Task    taskJSON `json:"task"`
}

func (p *program) printNotices(f noticesFlags, notices []rpc.Notice) error {
	if f.asJSON {
		list := make([]noticeJSON, 0, len(notices))
		for _, n := range notices {
			list = append(list, noticeJSON{n.ID, n.Text, n.Summary, jsonTask(n.Task, time.Now())})
		}
		return p.printJSON(struct {
			Version int          `json:"version"`
			Notices []noticeJSON `json:"notices"`
		}{jsonVersion, list})
	}
	for _, n := range notices {
		if err := p.printText(n.Text); err != nil {
			return err
		}
	}
	return nil
}
