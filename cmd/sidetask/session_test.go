package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sidetask/rpc"
)

// What a terminal shows of a session or an agent names it, as long as it is one only.
func TestNamedOwner(t *testing.T) {
	const one, other = "0f8c6b1e-aaaa-4000-8000-000000000001", "0f8c6b1e-bbbb-4000-8000-000000000002"
	const claude = "@agentclientprotocol/claude-agent-acp"
	owners := []rpc.OwnerInfo{
		{Agent: claude, Session: one},
		{Agent: claude, Session: other},
		{Agent: "codex", Session: "session-10"},
		{Agent: "codex", Session: "session-100"},
		{Agent: "codex", Session: "session-100-more"},
		{Agent: "@other/gemini", Session: "shared-by-two"},
		{Agent: "@another/gemini", Session: "shared-by-two"},
		{Agent: "an-agent-with-a-long-name", Session: "s1"},
		{}, // one that is not named yet
	}
	call := func(_ context.Context, _ string, _, result any) error {
		result.(*rpc.OwnerListResult).Owners = owners
		return nil
	}
	for _, c := range []struct {
		given, want rpc.As
		err         string
	}{
		{given: rpc.As{}, want: rpc.As{}},
		{given: rpc.As{Session: one}, want: rpc.As{Session: one}},
		{given: rpc.As{Session: "0f8c6b1e-a"}, want: rpc.As{Session: one}},
		{given: rpc.As{Session: "0f8c6b1e-b…"}, want: rpc.As{Session: other}},
		{given: rpc.As{Session: "0f8c6b1e"}, err: `"0f8c6b1e" may be the session ` + one + " or " + other},
		{given: rpc.As{Session: "0f8c6b1"}, err: `no agent has the session "0f8c6b1"`},
		// An id is itself before it is the beginning of another one; and one that is
		// shown whole stands for no other when it is gone.
		{given: rpc.As{Session: "session-100"}, want: rpc.As{Session: "session-100"}},
		{given: rpc.As{Session: "session-1"}, err: `"session-1" may be the session session-100 or session-100-more`},
		{given: rpc.As{Agent: "claude-agent-acp", Session: "0f8c6b1e-a"}, want: rpc.As{Agent: claude, Session: one}},
		{given: rpc.As{Agent: "claude-agent-acp"}, want: rpc.As{Agent: claude}},
		{given: rpc.As{Agent: "an-agent-with-a…"}, want: rpc.As{Agent: "an-agent-with-a-long-name"}},
		{given: rpc.As{Agent: "codex", Session: "0f8c6b1e-a"}, err: `no agent codex has the session "0f8c6b1e-a"`},
		{given: rpc.As{Agent: "gemini"}, err: `"gemini" may be the agent @another/gemini or @other/gemini`},
		{given: rpc.As{Agent: "nobody"}, err: "no agent nobody has a session"},
		// Several agents with the same session: which is meant is the command's to say.
		{given: rpc.As{Session: "shared-b"}, want: rpc.As{Session: "shared-by-two"}},
	} {
		got, err := namedOwner(t.Context(), call, c.given)
		switch {
		case c.err == "" && (err != nil || got != c.want):
			t.Errorf("%+v is %+v, %v; want %+v", c.given, got, err, c.want)
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%+v is %+v, %v; want %s", c.given, got, err, c.err)
		}
	}
}

// TestOwnerRows: an id is whole wherever there is room, and always for a script.
func TestOwnerRows(t *testing.T) {
	const id = "0f8c6b1e-aaaa-4000-8000-000000000001"
	owners := []rpc.OwnerInfo{{Owner: "o-1", Agent: "@agentclientprotocol/claude-agent-acp", Session: id, Status: "idle", Scope: "/", Mount: "/", BudgetLeft: 3}}
	row := func(agent, session string) []string {
		return []string{"o-1", agent, session, "idle", "/", "/", "0", "0", "3", "-"}
	}
	const room = 5 + 16 + 36 + 6 + 5 + 5 + 5 + 7 + 10 + 10 + 9*between
	for _, c := range []struct {
		columns int
		want    []string
	}{
		{0, row("@agentclientprotocol/claude-agent-acp", id)},
		{room, row("claude-agent-acp", id)},
		{room - 1, row("claude-agent-acp", "0f8c6b1e…")},
		{1, row("claude-agent-acp", "0f8c6b1e…")},
	} {
		rows := ownerRows(owners, time.Now(), c.columns)
		if got := rows[len(rows)-1]; !slices.Equal(got, c.want) || (len(rows) == 2) != (c.columns > 0) {
			t.Errorf("%d columns: %s, want %s", c.columns, strings.Join(got, "|"), strings.Join(c.want, "|"))
		}
	}
}
