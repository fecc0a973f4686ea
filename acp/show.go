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

// clientSays remembers what the editor says of itself in initialize.
func (p *proxy) clientSays(line []byte, e wire.Envelope) {
	p.clientName = firstText(line, e.Params, "clientInfo", "info")
	for _, at := range []string{"clientCapabilities", "capabilities"} {
		if v, ok := wire.Get(line, e.Params, at, "session", "notices"); ok {
			raw := string(v.Of(line))
			p.noticesShown = raw != "false" && raw != "null"
		}
	}
	p.decideShow()
}

// agentSays remembers what the agent's answer to initialize says.
func (p *proxy) agentSays(line []byte, e wire.Envelope) {
	if name := firstText(line, e.Result, "agentInfo", "info"); name != "" {
		p.agentName = name
	}
	for _, at := range []string{"agentInfo", "info"} {
		if v := wire.Text(line, e.Result, at, "version"); v != "" {
			p.agentVersion = v
		}
	}
	if v, ok := wire.Get(line, e.Result, "protocolVersion"); ok {
		if string(v.Of(line)) == "2" {
			p.version = 2
		} else {
			p.version = 1
		}
	}
}

func firstText(line []byte, s wire.Span, names ...string) string {
	for _, name := range names {
		if text := wire.Text(line, s, name, "name"); text != "" {
			return text
		}
	}
	return ""
}

// decideShow turns the setting into what is done for this editor.
func (p *proxy) decideShow() {
	p.show = p.settings.ShowWake
	if p.show == showAuto {
		p.show, _ = p.autoShow()
	}
}

func (p *proxy) autoShow() (show, why string) {
	if p.noticesShown {
		return showNotice, "advertises session.notices"
	}
	name := strings.ToLower(p.clientName)
	for _, c := range clients {
		if strings.HasPrefix(name, c.name) {
			return c.show, c.why
		}
	}
	return showAgent, "not known"
}

// echo shows the editor why a turn starts that it has not asked for. In version
// 2 the agent shows each prompt itself, ours as well: see replayed.
func (p *proxy) echo(s *session, notices []string) {
	if p.show == showUser && p.version >= 2 {
		return
	}
	text := visible(notices)
	var update string
	switch p.show {
	case showUser:
		update = fmt.Sprintf(`{"sessionUpdate":"user_message_chunk","content":%s,"messageId":%s}`, textBlock(text), wire.Quote(p.prefix+randomHex(8)))
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

// ignoring are agents that take no MCP server from their client.
var ignoring = []string{"pi-acp"}

// note tells the daemon what was decided for the editor, for status.
func (p *proxy) note(s *session) {
	name := p.clientName
	if name == "" {
		name = "an unnamed editor"
	}
	text := fmt.Sprintf("%s: showWake %s", name, p.show)
	if p.settings.ShowWake == showAuto {
		_, why := p.autoShow()
		text += " (auto: " + why + ")"
	}
	if p.ignores() {
		text += "; " + p.agentName + " ignores mcpServers: no task tools"
	}
	p.ownerUpdate(s, rpc.OwnerUpdate{Note: &text})
}

func (p *proxy) ignores() bool {
	for _, name := range ignoring {
		if p.agentName == name {
			return true
		}
	}
	return false
}
