package acp

import (
	"slices"
	"strings"

	"sidetask/acp/internal/wire"
)

// who is what the two sides say of themselves in initialize.
type who struct {
	version       int // of the protocol, as the agent has it
	client, agent string
	agentVersion  string
	answered      bool // the agent has answered initialize
	notices       bool // the editor has clientCapabilities.session.notices
}

// clientSays remembers what the editor says.
func (w *who) clientSays(line []byte, e wire.Envelope) {
	w.client = firstText(line, e.Params, "clientInfo", "info")
	for _, at := range []string{"clientCapabilities", "capabilities"} {
		if v, ok := wire.Get(line, e.Params, at, "session", "notices"); ok {
			raw := string(v.Of(line))
			w.notices = raw != "false" && raw != "null"
		}
	}
}

// agentSays remembers what the agent's answer says.
func (w *who) agentSays(line []byte, e wire.Envelope) {
	w.answered = true
	if name := firstText(line, e.Result, "agentInfo", "info"); name != "" {
		w.agent = name
	}
	for _, at := range []string{"agentInfo", "info"} {
		if v := wire.Text(line, e.Result, at, "version"); v != "" {
			w.agentVersion = v
		}
	}
	if v, ok := wire.Get(line, e.Result, "protocolVersion"); ok {
		if string(v.Of(line)) == "2" {
			w.version = 2
		} else {
			w.version = 1
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

// auto is what showWake "auto" means for this editor: never auto.
func (w *who) auto() (show, why string) {
	if w.notices {
		return showNotice, "advertises session.notices"
	}
	name := strings.ToLower(w.client)
	for _, c := range clients {
		if strings.HasPrefix(name, c.name) {
			return c.show, c.why
		}
	}
	return showAgent, "not known"
}

// ignoring are agents that take no MCP server from their client.
var ignoring = []string{"pi-acp"}

// ignores reports whether the agent is one of those.
func (w *who) ignores() bool { return slices.Contains(ignoring, w.agent) }

// speakers are the agents that speak ACP for a program that is easily taken for one.
var speakers = map[string]string{"claude": "claude-agent-acp", "codex": "codex-acp"}

// mute says which agent was meant, where the program that was run is known to speak
// no ACP and indeed did not; else "".
func (p *proxy) mute() string {
	name := baseName(p.o.Agent)
	if speaker := speakers[name]; speaker != "" && !p.who.answered {
		return name + " itself speaks no ACP; run " + speaker + " in its place, which does"
	}
	return ""
}
