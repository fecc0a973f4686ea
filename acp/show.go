package acp

import (
	"fmt"
	"strings"

	"sidetask/acp/internal/wire"
	"sidetask/render"
	"sidetask/rpc"
)

// Values of [acp] showWake (ACP.md §4).
const (
	showAuto   = "auto"
	showUser   = "user"
	showAgent  = "agent"
	showNotice = "notice"
	showOff    = "off"
)

// clients is what "auto" means for an editor: how each shows updates that come
// outside a turn, as measured in November 2026 (ACP.md §4). name is the
// beginning of its clientInfo.name, in lower case. Above each row stands where
// its source says so.
//
// JetBrains has no row: its client is not published. It calls itself
// "JetBrains.IntelliJ IDEA" (agentclientprotocol/registry#30). That a chunk which
// came with the answer to session/new was not shown (BrokkAi/brokk-app#3489)
// says nothing of one that comes after a turn, so it gets what an unknown client gets.
var clients = []struct{ name, show, why string }{
	// zed-industries/zed crates/agent_servers/src/acp.rs: client_info is "zed";
	// crates/acp_thread/src/acp_thread.rs, handle_session_update: user and agent
	// chunks are pushed whether or not a turn runs.
	{"zed", showUser, "renders updates outside a turn"},
	// batrachianai/toad src/toad/__init__.py: NAME is "toad";
	// src/toad/acp/agent.py, rpc_session_update: posts each update as it comes.
	{"toad", showUser, "renders updates outside a turn"},
	// marimo-team/use-acp src/hooks/use-acp-client.ts: each update is added to the
	// list that is shown. marimo's frontend/src/components/chat/acp/agent-panel.tsx
	// sends no clientInfo yet: until it does it counts as unknown.
	{"marimo", showUser, "renders updates outside a turn"},
	// yetone/avante.nvim lua/avante/libs/acp_client.lua: clientInfo is
	// "avante.nvim" (none in older ones); _handle_session_update looks at no turn.
	{"avante", showUser, "renders updates outside a turn"},
	// RAIT-09/obsidian-agent-client src/acp/acp-client.ts: clientInfo is
	// "obsidian-agent-client"; src/acp/acp-handler.ts, sessionUpdate: user and
	// agent chunks go to the listeners whether or not a prompt runs.
	{"obsidian", showUser, "renders updates outside a turn"},
	// olimorris/codecompanion.nvim lua/codecompanion/adapters/acp/*.lua: clientInfo
	// is "CodeCompanion.nvim"; lua/codecompanion/acp/init.lua,
	// handle_incoming_request_or_notification: chunks, cards and requests for
	// permission only `if s._active_prompt`.
	{"codecompanion", showOff, "drops updates outside a turn, and leaves permission requests of it unanswered"},
	// openclaw/acpx src/acp/client.ts: clientInfo is "acpx" (but "windsurf" for
	// Devin); the handlers of updates are cleared after each prompt.
	{"acpx", showOff, "drops updates between prompts"},
	// xenodium/agent-shell agent-shell.el: client-info is "agent-shell"; its
	// agent-shell--on-notification puts chunks outside a turn above the prompt (up to
	// 0.57 it dropped them, #441), but a user's chunk looks like a prompt sent.
	{"agent-shell", showAgent, "may be disturbed by a user_message_chunk"},
}

// showWake is how wakes are shown to this editor: never auto.
func (p *proxy) showWake() string {
	if p.settings.ShowWake != showAuto {
		return p.settings.ShowWake
	}
	show, _ := p.who.auto()
	return show
}

// echo shows the editor why a turn starts that it has not asked for. In version
// 2 the agent shows each prompt itself, ours as well: see replayed.
func (p *proxy) echo(s *session, notices []string) {
	show := p.showWake()
	if show == showUser && p.who.version >= 2 {
		return
	}
	text := visible(notices)
	var update string
	switch show {
	case showUser:
		update = fmt.Sprintf(`{"sessionUpdate":"user_message_chunk","content":%s,"messageId":%s}`, textBlock(text), p.ours.messageID())
	case showNotice:
		update = fmt.Sprintf(`{"sessionUpdate":"notice","severity":"info","title":"Background task finished","description":%s}`, wire.Quote(text))
	default:
		return
	}
	p.toEditor(markAdded, message(methodUpdate, fmt.Sprintf(`{"sessionId":%s,"update":%s}`, wire.Quote(s.id), update)))
}

// visible is how the editor shows notices.
func visible(notices []string) string {
	lines := make([]string, len(notices))
	for i, n := range notices {
		lines[i] = render.OneLine(n)
	}
	return strings.Join(lines, "\n")
}

// note tells the daemon what was decided for the editor, for status.
func (p *proxy) note(s *session) {
	name := p.who.client
	if name == "" {
		name = "an unnamed editor"
	}
	text := fmt.Sprintf("%s: showWake %s", name, p.showWake())
	if p.settings.ShowWake == showAuto {
		_, why := p.who.auto()
		text += " (auto: " + why + ")"
	}
	if p.who.ignores() {
		text += "; " + p.who.agent + " ignores mcpServers: no task tools"
	}
	p.ownerUpdate(s, rpc.OwnerUpdate{Note: &text})
}
