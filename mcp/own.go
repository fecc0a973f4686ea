package mcp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sidetask/render"
	"sidetask/rpc"
	"sidetask/rpc/client"
)

const (
	// disposeTime bounds how long the end of an owner of its own is waited
	// for; the daemon goes on with it alone.
	disposeTime = 5 * time.Second
	// quickTime bounds what the daemon does at once.
	quickTime = 5 * time.Second
)

// own is an owner that lives as long as this server: any MCP client may use the
// tools without a proxy. Nobody can give its model a turn, so its notices ride
// on the results of its next tool calls (CLI.md, `sidetask mcp`).
type own struct {
	token        string
	registration rpc.OwnerRegister
}

func newOwn(o Options, agent *mcp.Implementation) *own {
	token := random(16)
	name := "mcp"
	if agent != nil && agent.Name != "" {
		name = agent.Name
	}
	return &own{token: token, registration: rpc.OwnerRegister{
		Token: token, Agent: name, Session: "mcp-" + random(6), Scope: "/", Cwd: o.Cwd, Env: o.Env,
	}}
}

// random gives n random bytes in hex.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// register makes a fresh connection the owner's host, after a restart of the
// daemon again.
func (o *own) register(ctx context.Context, c *client.Client) error {
	return c.Call(ctx, rpc.MethodOwnerRegister, o.registration, nil)
}

// addNotices puts the notices that wait behind an answer, of a task_output in
// front of it, since that ends with its status line. They are acknowledged when
// the answer has reached the agent; else they come with a later one.
func (o *own) addNotices(ctx context.Context, c *client.Client, tool string, r reply) reply {
	as := rpc.As{Token: o.token}
	// Beyond the call's own end, so that no lease is taken that nobody knows of.
	ctx = context.WithoutCancel(ctx)
	var claimed rpc.InboxClaimed
	err := quick(ctx, c, rpc.MethodInboxClaim, rpc.InboxClaim{As: as, Reason: rpc.ClaimTurnEnd}, &claimed)
	if err != nil || len(claimed.Notices) == 0 {
		return r // the answer is worth more than a notice that can wait
	}
	texts := make([]string, 0, len(claimed.Notices))
	for _, n := range claimed.Notices {
		texts = append(texts, n.Text)
	}
	if tool == rpc.ToolOutput {
		r.Content = join(append([]rpc.Content{rpc.Text(render.Frame(texts) + "\n")}, r.Content...))
	} else {
		r.Content = join(append(r.Content, rpc.Text("\n"+render.Frame(texts))))
	}
	lease := rpc.InboxAck{As: as, Lease: claimed.Lease}
	delivered, failed := r.delivered, r.failed
	r.delivered = func() {
		delivered()
		_ = quick(ctx, c, rpc.MethodInboxAck, lease, nil) // a connection lost here brings the notices again
	}
	r.failed = func() {
		failed()
		_ = quick(ctx, c, rpc.MethodInboxRelease, lease, nil)
	}
	return r
}

// join makes texts that meet one block: agents show a model one text.
func join(blocks []rpc.Content) []rpc.Content {
	var joined []rpc.Content
	for _, block := range blocks {
		if n := len(joined); n > 0 && block.Raw == nil && joined[n-1].Raw == nil {
			joined[n-1].Text += block.Text
		} else {
			joined = append(joined, block)
		}
	}
	return joined
}

// quick makes a call that the daemon answers at once.
func quick(ctx context.Context, c *client.Client, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, quickTime)
	defer cancel()
	return c.Call(ctx, method, params, result)
}

// dispose ends the owner and its tasks.
func (o *own) dispose(k *client.Keeper) {
	if !k.Connected() {
		return // the daemon's owners.graceMs ends it
	}
	ctx, cancel := context.WithTimeout(context.Background(), disposeTime)
	defer cancel()
	_ = k.Call(ctx, rpc.MethodOwnerDispose, rpc.OwnerDispose{As: rpc.As{Token: o.token}, Reason: "the MCP client has ended"}, nil)
}
