package acp

import (
	"encoding/json"
	"strings"
	"time"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
	"sidetask/render"
	"sidetask/rpc"
)

// maxCards bounds the cards that are remembered for a session; the oldest go.
const maxCards = 1024

// card is a call of one of our tools that the agent has shown.
type card struct {
	id      string // its toolCallId
	tool    string
	args    json.RawMessage // while it is not over
	title   []byte          // as JSON; nil while the arguments are not known, or bad
	kind    []byte
	status  string
	shown   time.Time // when its arguments, or that it is in progress, were first shown
	over    bool      // completed or failed
	matched bool      // owner/resolve has given it a call
}

// cards are those of a session, by toolCallId.
type cards struct {
	byID  map[string]*card
	order []string
}

// form is how an agent names the tools of an MCP server.
type form int

const (
	formNone form = iota
	formClaude
	formCodexTS
	formCodexRust
	formGemini
	formOpencode
)

// forms are those that the agent has shown.
type forms [formOpencode + 1]bool

// perSession reports whether the agent is known to keep one MCP process for each session.
func (f forms) perSession() bool {
	return f[formClaude] || f[formCodexTS] || f[formCodexRust] || f[formGemini]
}

var tools = []string{rpc.ToolStart, rpc.ToolOutput, rpc.ToolList, rpc.ToolKill}

// toolOf says which of our tools a tool call is about, if any (ACP.md §5).
func toolOf(line []byte, call wire.Span, server string) (tool string, f form) {
	find := func(prefix, text string) string {
		for _, t := range tools {
			if text == prefix+t {
				return t
			}
		}
		return ""
	}
	claude := "mcp__" + server + "__"
	if t := find(claude, wire.Text(line, call, "name")); t != "" {
		return t, formClaude
	}
	if t := find(claude, wire.Text(line, call, "_meta", "claudeCode", "toolName")); t != "" {
		return t, formClaude
	}
	title := wire.Text(line, call, "title")
	for _, c := range []struct {
		prefix string
		form   form
	}{{"mcp." + server + ".", formCodexTS}, {"Tool: " + server + "/", formCodexRust}, {server + "_", formOpencode}} {
		if t := find(c.prefix, title); t != "" {
			return t, c.form
		}
	}
	if rest, ok := strings.CutPrefix(wire.Text(line, call, "toolCallId"), "mcp_"+server+"_"); ok {
		for _, t := range tools {
			if strings.HasPrefix(rest, t+"__") {
				return t, formGemini
			}
		}
	}
	if wire.Text(line, call, "rawInput", "server") == server {
		return find("", wire.Text(line, call, "rawInput", "tool")), formCodexTS
	}
	return "", formNone
}

// card rewrites a tool call, or an update of one, that is about a tool of ours.
// asking: it is the toolCall of a request for permission.
func (p *proxy) card(s *session, line []byte, call wire.Span, asking bool) []byte {
	id := wire.Text(line, call, "toolCallId")
	if id == "" || s.server == "" {
		return line
	}
	c := s.cards.byID[id]
	if c == nil {
		tool, f := toolOf(line, call, s.server)
		if tool == "" {
			return line
		}
		p.resolver.forms[f] = true
		c = &card{id: id, tool: tool, over: s.loading > 0} // a replay shows old ones
		s.cards.add(c)
	}
	status := wire.Text(line, call, "status")
	if c.learn(line, call, asking) || status == "in_progress" && c.status != status {
		c.shown = time.Now()
	}
	if status != "" {
		c.status = status
	}
	if c.over || status == "completed" || status == "failed" {
		c.end()
	}
	if s.loading == 0 {
		p.resolver.shown(s, c)
	}
	if c.title == nil {
		return line
	}
	set := []wire.Member{{Name: "title", Value: c.title}, {Name: "kind", Value: c.kind}}
	if asking || status == "pending" || status == "in_progress" {
		set = append(set, wire.Member{Name: "content"})
	}
	edits := wire.Set(line, call, set...)
	if edits == nil {
		return line
	}
	return wire.Splice(line, edits...)
}

// end notes that the call is over. No call waits for this card any more, so what
// its arguments are, which may be much, need not be known.
func (c *card) end() { c.over, c.args = true, nil }

// isOurs reports whether a tool call is of a tool of ours.
func (s *session) isOurs(line []byte, call wire.Span) bool {
	if s.server == "" {
		return false
	}
	tool, _ := toolOf(line, call, s.server)
	return tool != "" || s.cards.byID[wire.Text(line, call, "toolCallId")] != nil
}

func (cs *cards) add(c *card) {
	if cs.byID == nil {
		cs.byID = map[string]*card{}
	}
	if len(cs.order) >= maxCards {
		delete(cs.byID, cs.order[0])
		cs.order = cs.order[1:]
	}
	cs.byID[c.id] = c
	cs.order = append(cs.order, c.id)
}

// learn takes the arguments of the call from what is shown of it, and says
// whether they are new.
func (c *card) learn(line []byte, call wire.Span, asking bool) bool {
	args, ok := argumentsOf(line, call, asking)
	if !ok || string(args) == string(c.args) {
		return false
	}
	shown, ok := render.CardOf(c.tool, args)
	if !ok {
		return false
	}
	c.args = append(json.RawMessage(nil), args...)
	c.title, c.kind = wire.Quote(shown.Title), wire.Quote(shown.Kind)
	return true
}

// argumentsOf finds the arguments: in rawInput, or as text in content, as gemini
// has it in a request for permission. Elsewhere content is the result.
func argumentsOf(line []byte, call wire.Span, asking bool) (json.RawMessage, bool) {
	if raw, ok := wire.Get(line, call, "rawInput"); ok && line[raw.From] == '{' {
		if inner, ok := wire.Get(line, raw, "arguments"); ok {
			if _, codex := wire.Get(line, raw, "tool"); codex {
				return inner.Of(line), true
			}
		}
		return raw.Of(line), true
	}
	content, ok := wire.Get(line, call, "content")
	if !ok || !asking {
		return nil, false
	}
	first, ok := wire.First(line, content)
	if !ok {
		return nil, false
	}
	text := wire.Text(line, first, "content", "text")
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || !json.Valid([]byte(text)) {
		return nil, false
	}
	return json.RawMessage(text), true
}

// closeCards closes the cards of ours that a cancelled turn left open, as codex does.
func (p *proxy) closeCards(s *session, r turn.Result) {
	if r != turn.Cancelled {
		return
	}
	for _, id := range s.cards.order {
		c := s.cards.byID[id]
		if c.over {
			continue
		}
		c.end()
		p.toEditor(markAdded, message(methodUpdate, `{"sessionId":`+string(wire.Quote(s.id))+
			`,"update":{"sessionUpdate":"tool_call_update","toolCallId":`+string(wire.Quote(c.id))+`,"status":"failed"}}`))
	}
}
