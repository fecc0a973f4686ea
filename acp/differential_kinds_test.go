package acp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/coder/acp-go-sdk"
	"pgregory.net/rapid"

	"sidetask/render"
)

// What the published schemas name. Version 1 comes from the generated constants
// of the SDK; it has no version 2, whose names are the hand lists below (from
// the published preview, where they are not those of version 1).
var (
	clientRequests = []string{
		sdk.AgentMethodAuthenticate, sdk.AgentMethodLogout, sdk.AgentMethodMcpMessage, sdk.AgentMethodNesStart, sdk.AgentMethodNesSuggest, sdk.AgentMethodNesClose,
		sdk.AgentMethodProvidersDisable, sdk.AgentMethodProvidersList, sdk.AgentMethodProvidersSet,
		sdk.AgentMethodSessionNew, sdk.AgentMethodSessionLoad, sdk.AgentMethodSessionResume, sdk.AgentMethodSessionFork,
		sdk.AgentMethodSessionClose, "session/delete", sdk.AgentMethodSessionList, sdk.AgentMethodSessionPrompt, sdk.AgentMethodSessionPrompt,
		sdk.AgentMethodSessionSetConfigOption, sdk.AgentMethodSessionSetMode, sdk.AgentMethodSessionSetModel, "auth/login", "_ext/ask", "unknown",
	}
	clientNotices = []string{
		sdk.AgentMethodSessionCancel, "$/cancel_request", sdk.AgentMethodDocumentDidChange, sdk.AgentMethodDocumentDidClose, sdk.AgentMethodDocumentDidFocus,
		sdk.AgentMethodDocumentDidOpen, sdk.AgentMethodDocumentDidSave, sdk.AgentMethodNesAccept, sdk.AgentMethodNesReject, sdk.AgentMethodMcpMessage, "_ext/tell",
	}
	agentRequests = []string{
		sdk.ClientMethodSessionRequestPermission, sdk.ClientMethodFsReadTextFile, sdk.ClientMethodFsWriteTextFile, sdk.ClientMethodTerminalCreate,
		sdk.ClientMethodTerminalOutput, sdk.ClientMethodTerminalWaitForExit, sdk.ClientMethodTerminalKill, sdk.ClientMethodTerminalRelease,
		sdk.ClientMethodElicitationCreate, sdk.ClientMethodMcpConnect, sdk.ClientMethodMcpDisconnect, sdk.ClientMethodMcpMessage, "_ext/ask",
	}
	agentNotices = []string{sdk.ClientMethodElicitationComplete, sdk.ClientMethodMcpMessage, "$/cancel_request", "_session/turn_ended", "_ext/tell"}
	// Version 2, and one that no schema has.
	newerUpdates = []string{
		"state_update", "user_message", "agent_message", "agent_thought", "tool_call_content_chunk", "plan_update", "plan_removed", "terminal_update",
		"terminal_output_chunk", "notice", "_unknown",
	}
)

// publishedUpdates are the variants of session/update, as the SDK writes them.
func publishedUpdates(t *testing.T) (kinds []string) {
	for i := range reflect.TypeFor[sdk.SessionUpdate]().NumField() {
		var u sdk.SessionUpdate
		f := reflect.ValueOf(&u).Elem().Field(i)
		f.Set(reflect.New(f.Type().Elem()))
		if c := f.Elem().FieldByName("Content"); c.IsValid() && c.Type() == reflect.TypeFor[sdk.ContentBlock]() {
			c.Set(reflect.ValueOf(sdk.TextBlock(""))) // it has no empty form
		}
		raw, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ SessionUpdate string }
		if err := json.Unmarshal(raw, &got); err != nil || got.SessionUpdate == "" {
			t.Fatalf("%s: %v", raw, err)
		}
		kinds = append(kinds, got.SessionUpdate)
	}
	return kinds
}

var (
	entryRE = regexp.MustCompile(`,?\{("type":"stdio",)?"name":"sidetask","command":"/bin/sidetask","args":\["mcp"\],"env":\[[^\]]*\]\}`)
	blockRE = regexp.MustCompile(`\{"type":"text","text":"` + regexp.QuoteMeta(render.FrameFirst) + `[^"]*"\},?`)
	cardRE  = regexp.MustCompile(`"title":"[^"]*","kind":"[^"]*"`)
)

// normal takes the named edits out of a line: our entry in mcpServers, our block
// before a user's, title and kind of our cards. A prompt of ours is nothing.
func normal(line string) string {
	switch {
	case strings.HasPrefix(line, `{"jsonrpc":"2.0","id":"sidetask-`):
		return ""
	case strings.Contains(line, `"mcpServers"`):
		return strings.Replace(entryRE.ReplaceAllString(line, ""), `"mcpServers":[],`, "", 1)
	case strings.Contains(line, `"session/prompt"`):
		return blockRE.ReplaceAllString(line, "")
	case strings.Contains(line, "mcp__sidetask__"):
		return cardRE.ReplaceAllString(line, `"title":"","kind":""`)
	}
	return line
}

// peers draws what an editor and an agent say to each other that know the protocol.
type peers struct {
	*rapid.T
	b        *bench
	updates  []string
	version  int
	ids, own int // ids given out, prompts of ours
	sessions []string
	open     [2][]openRequest // requests of the editor, of the agent
	sent     [2][]string      // what the editor wrote, what the agent wrote
	got      [2][]string      // what came of it
}

type openRequest struct{ id, method, session string }

func (p *peers) pick(from []string) string { return rapid.SampledFrom(from).Draw(p.T, "pick") }

// say has a side write a line, and answers what the proxy asks of its own.
func (p *peers) say(side int, line string) {
	p.sent[side] = append(p.sent[side], line)
	p.b.input([]string{"E> ", "A> "}[side] + line)
	p.settle()
}

func (p *peers) settle() {
	synctest.Wait()
	for _, s := range []struct {
		side int
		out  *sink
	}{{0, p.b.toAg}, {1, p.b.toEd}} {
		for line := range strings.Lines(s.out.take()) {
			p.got[s.side] = append(p.got[s.side], strings.TrimSuffix(line, "\n"))
		}
	}
	i := len(p.got[0]) - 1
	if i < 0 || normal(p.got[0][i]) != "" {
		return
	}
	// The agent ends a turn of ours at once.
	var own struct {
		ID     string
		Params struct{ SessionID string }
	}
	_ = json.Unmarshal([]byte(p.got[0][i]), &own)
	p.got[0] = p.got[0][:i]
	p.own++
	p.b.input(fmt.Sprintf(`A> {"jsonrpc":"2.0","id":%q,"result":{"stopReason":"end_turn","messageId":"m"}}`, own.ID))
	if p.version == 2 {
		p.say(1, state(own.Params.SessionID, "running"))
		p.say(1, state(own.Params.SessionID, "idle"))
	}
	p.settle()
}

func state(session, to string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":"state_update","state":%q,"stopReason":"end_turn"}}}`, session, to)
}

// request draws a request of a side, well formed for its method.
func (p *peers) request(side int, method string) {
	p.ids++
	id := p.pick([]string{fmt.Sprint(p.ids), fmt.Sprint(-p.ids), fmt.Sprintf(`"%d"`, p.ids), fmt.Sprintf(`"id %d\u00e9"`, p.ids)})
	session := p.pick(append([]string{"none"}, p.sessions...))
	members := []string{fmt.Sprintf(`"sessionId":%q`, session), `"x":` + value(p.T, 2)}
	switch method {
	case "session/new", "session/load", "session/resume", "session/fork":
		members = append(members, `"cwd":"/w"`)
		members = append(members, p.pick([]string{`"mcpServers":[{"name":"a","command":"/a","args":[],"env":[]}]`, `"mcpServers":[ {"type":"http","name":"h","url":"http://h"} ]`, `"y":1`}))
	case "session/prompt":
		members = append(members, `"prompt":[`+p.pick([]string{``, `{"type":"text","text":"/compact"}`, `{"type":"text","text":"hi \u2028"}`, `{"type":"image","data":"AA=="}`})+`]`)
	case "session/request_permission":
		members = append(members, `"options":[{"optionId":"o","name":"n","kind":"allow_once"}]`, `"toolCall":{"toolCallId":"t","title":"x"}`)
	}
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s}}`, id, method, strings.Join(members, ","))
	p.open[side] = append(p.open[side], openRequest{id, method, session})
	p.say(side, line)
}

// answer has the other side answer the i-th open request of one.
func (p *peers) answer(of, i int) {
	r := p.open[of][i]
	p.open[of] = slices.Delete(p.open[of], i, i+1)
	result := `"result":` + object(p.T, `"x":`+value(p.T, 2))
	switch {
	case rapid.IntRange(0, 5).Draw(p.T, "fails") == 0:
		result = `"error":{"code":-32603,"message":"no","data":` + value(p.T, 1) + `}`
	case r.method == "session/new", r.method == "session/fork":
		p.sessions = append(p.sessions, fmt.Sprintf("s%d", len(p.sessions)))
		result = fmt.Sprintf(`"result":{"sessionId":%q,"modes":null}`, p.sessions[len(p.sessions)-1])
	case r.method == "session/prompt" && p.version == 2:
		result = `"result":{"messageId":"m"}`
	case r.method == "session/prompt":
		result = fmt.Sprintf(`"result":{"stopReason":%q}`, p.pick([]string{"end_turn", "cancelled", "refusal", "max_tokens", "max_turn_requests"}))
	case r.method == "session/request_permission":
		result = p.pick([]string{`"result":{"outcome":{"outcome":"cancelled"}}`, `"result":{"outcome":{"outcome":"selected","optionId":"o"}}`})
	}
	p.say(1-of, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, r.id, result))
}

// tell draws a notification of a side.
func (p *peers) tell(side int, method string) {
	session := p.pick(append([]string{"none"}, p.sessions...))
	params := object(p.T, fmt.Sprintf(`"sessionId":%q`, session), `"p":`+value(p.T, 1))
	switch method {
	case "$/cancel_request":
		id := `"none"`
		if len(p.open[side]) > 0 {
			id = p.open[side][0].id
		}
		params = `{"requestId":` + id + `}`
	case "session/update":
		kind := p.pick(p.updates)
		update := object(p.T, fmt.Sprintf(`"sessionUpdate":%q`, kind), `"content":`+value(p.T, 2), `"status":"pending"`)
		switch {
		case kind == "state_update":
			p.say(side, state(session, p.pick([]string{"running", "requires_action", "idle"})))
			return
		case strings.HasPrefix(kind, "tool_call") && rapid.Bool().Draw(p.T, "ours"):
			update = fmt.Sprintf(`{"sessionUpdate":%q,"toolCallId":"c","title":"t","kind":"other","status":"in_progress","rawInput":{"command":"make"},"_meta":{"claudeCode":{"toolName":"mcp__sidetask__task_start"}}}`, kind)
		}
		params = fmt.Sprintf(`{"sessionId":%q,"update":%s}`, session, update)
	}
	p.say(side, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
	if method == "session/cancel" { // it ends the turn: new prompts wait for that (ACP.md §4)
		for i := len(p.open[0]) - 1; i >= 0; i-- {
			if r := p.open[0][i]; r.session == session && r.method == "session/prompt" {
				p.answer(0, i)
			}
		}
		if p.version == 2 {
			p.say(1, state(session, "idle"))
		}
	}
}

// step draws the next thing that happens.
func (p *peers) step() {
	side := rapid.IntRange(0, 1).Draw(p.T, "side")
	switch n := rapid.IntRange(0, 9).Draw(p.T, "step"); {
	case n < 3 && len(p.open[side]) > 0:
		p.answer(side, rapid.IntRange(0, len(p.open[side])-1).Draw(p.T, "which"))
	case n < 6:
		p.request(side, p.pick([][]string{clientRequests, agentRequests}[side]))
	case n == 6 && len(p.b.daemon.owners) > 0:
		p.b.input(p.pick([]string{"wait 0s", "wait 3s"})) // sessions settle, turns of the agent's own are over
		p.b.daemon.do("notice background task bash-1 finished")
		p.settle()
	case n == 7 && side == 0:
		p.tell(0, p.pick(clientNotices))
	case n == 7:
		p.tell(1, p.pick(agentNotices))
	default:
		p.tell(1, "session/update")
	}
}

// TestDifferentialKinds: each kind of message of the published schemas, both
// ways, in a conversation that makes sense and in which we have prompts of our
// own: but for the named edits, the same bytes in the same order.
func TestDifferentialKinds(t *testing.T) {
	updates := append(publishedUpdates(t), newerUpdates...)
	own := 0
	rapid.Check(t, func(rt *rapid.T) {
		var p *peers
		var stopped any // rapid stops a draw with a panic, which must not end the bubble
		synctest.Test(t, func(t *testing.T) {
			defer func() { stopped = recover() }()
			p = &peers{T: rt, b: newBench(t, false), updates: updates, version: rapid.IntRange(1, 2).Draw(rt, "version")}
			defer p.b.end()
			p.say(0, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"x":%s}}`, value(rt, 2)))
			p.say(1, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":%d,"x":%s}}`, p.version, value(rt, 2)))
			p.request(0, "session/new")
			for range rapid.IntRange(5, 40).Draw(rt, "steps") {
				p.step()
			}
			for side := range p.open {
				for len(p.open[side]) > 0 {
					p.answer(side, 0)
				}
			}
		})
		if stopped != nil {
			panic(stopped)
		}
		own += p.own
		for side, to := range []string{"to the agent", "to the editor"} {
			for i := range max(len(p.sent[side]), len(p.got[side])) {
				if i >= len(p.got[side]) || i >= len(p.sent[side]) {
					rt.Fatalf("%s: %d lines of %d: %q", to, len(p.got[side]), len(p.sent[side]), append(p.got[side], p.sent[side]...)[i:])
				}
				if got, want := p.got[side][i], p.sent[side][i]; normal(got) != normal(want) {
					rt.Fatalf("%s, line %d:\n got %s\nwant %s", to, i, got, want)
				}
			}
		}
	})
	if own == 0 {
		t.Error("there was no prompt of ours")
	}
}
