package acp

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/coder/acp-go-sdk"
	"pgregory.net/rapid"

	"sidetask/render"
)

// What earlier schemas named, and what none does.
var (
	otherRequests = [2][]string{
		{sdk.AgentMethodNesStart, sdk.AgentMethodNesSuggest, sdk.AgentMethodNesClose, sdk.AgentMethodSessionSetModel, "_ext/ask", "unknown"},
		{sdk.ClientMethodMcpConnect, sdk.ClientMethodMcpDisconnect, "_ext/ask", "unknown"},
	}
	otherNotices = [2][]string{
		{
			sdk.AgentMethodDocumentDidChange, sdk.AgentMethodDocumentDidClose, sdk.AgentMethodDocumentDidFocus, sdk.AgentMethodDocumentDidOpen,
			sdk.AgentMethodDocumentDidSave, sdk.AgentMethodNesAccept, sdk.AgentMethodNesReject, "_ext/tell",
		},
		{"_session/turn_ended", "_ext/tell"},
	}
	otherUpdates = []string{"current_model_update", "_unknown"}
)

var (
	entryRE = regexp.MustCompile(`,?\{("type":"stdio",)?"name":"sidetask","command":"/bin/sidetask","args":\["mcp"\],"env":\[[^\]]*\]\}`)
	blockRE = regexp.MustCompile(`\{"type":"text","text":"` + regexp.QuoteMeta(render.FrameFirst) + `[^"]*"\},?`)
	// The card of a cancelled turn that codex leaves in progress.
	closedRE = regexp.MustCompile(`^\{"jsonrpc":"2.0","method":"session/update","params":\{"sessionId":"\w+","update":\{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"\}\}\}$`)
	cardRE   = regexp.MustCompile(`"title":"[^"]*","kind":"[^"]*"`)
)

// normal takes the named edits out of a line: our entry in mcpServers, our block
// before a user's, title and kind of our cards. A prompt of ours is nothing; nor
// is the end of a card of ours (closedRE).
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

// sweep has each kind of message once: each request both ways with its result,
// each notification, each update, each block of content wherever it may stand.
func (p *peers) sweep() {
	p.sweeps++
	for side := range 2 {
		for _, method := range slices.Sorted(maps.Keys(p.methods(side).Requests)) {
			if method != methodInitialize && method != methodClose && method != methodDelete {
				p.request(side, method, nil)
				p.answer(side, len(p.open[side])-1, false)
			}
		}
		for _, method := range slices.Sorted(maps.Keys(p.methods(side).Notices)) {
			p.tell(side, method)
		}
	}
	for _, kind := range p.variants("SessionUpdate") {
		p.update(p.object(kind, nil))
	}
	for _, block := range p.variants("ContentBlock") {
		one := p.object(block, nil)
		p.request(0, methodPrompt, map[string]string{"prompt": "[" + one + "]"})
		for _, kind := range p.variants("SessionUpdate") {
			if name := p.kind(kind, "sessionUpdate"); strings.HasSuffix(name, "_chunk") && name != "terminal_output_chunk" {
				p.update(p.object(kind, map[string]string{"content": one}))
			}
		}
		p.answer(0, len(p.open[0])-1, false)
	}
	for _, content := range p.variants("ToolCallContent") {
		p.update(p.object(p.def("ToolCallUpdate"), map[string]string{"sessionUpdate": `"tool_call_update"`, "content": "[" + p.object(content, nil) + "]"}))
	}
}

// step draws the next thing that happens.
func (p *peers) step() {
	side := rapid.IntRange(0, 1).Draw(p.T, "side")
	known := p.methods(side)
	requests := slices.DeleteFunc(slices.Sorted(maps.Keys(known.Requests)), func(m string) bool { return m == methodInitialize })
	switch n := rapid.IntRange(0, 9).Draw(p.T, "step"); {
	case n < 3 && len(p.open[side]) > 0:
		p.answer(side, rapid.IntRange(0, len(p.open[side])-1).Draw(p.T, "which"), true)
	case n < 3 && side == 0:
		p.request(0, methodPrompt, nil)
	case n < 6:
		p.request(side, p.pick(append(requests, otherRequests[side]...)), nil)
	case n == 6 && len(p.b.daemon.owners) > 0:
		p.b.input(p.pick([]string{"wait 0s", "wait 3s"})) // sessions settle, turns of the agent's own are over
		p.b.daemon.do("notice background task bash-1 finished")
		p.settle()
	case n == 7:
		notices := slices.DeleteFunc(slices.Sorted(maps.Keys(known.Notices)), func(m string) bool { return m == methodUpdate })
		p.tell(side, p.pick(append(notices, otherNotices[side]...)))
	default:
		p.someUpdate()
	}
}

// TestDifferentialKinds: each kind of message of the published schemas, both
// ways, valid by them, and some that they do not know, in a conversation that
// makes sense and in which we have prompts of our own: but for the named edits,
// the same bytes in the same order.
func TestDifferentialKinds(t *testing.T) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("v%d", version), func(t *testing.T) {
			own, sweeps, known := 0, 0, readSchema(t, version)
			rapid.Check(t, func(rt *rapid.T) {
				var p *peers
				var stopped any // rapid stops a draw with a panic, which must not end the bubble
				synctest.Test(t, func(t *testing.T) {
					defer func() { stopped = recover() }()
					p = &peers{maker: maker{rt, known}, b: newBench(t, false), version: version}
					defer p.b.end()
					p.converse()
				})
				if stopped != nil {
					panic(stopped)
				}
				own += p.own
				sweeps += p.sweeps
				p.compare()
			})
			if own == 0 {
				t.Error("there was no prompt of ours")
			}
			if sweeps == 0 {
				t.Error("no conversation had each kind")
			}
		})
	}
}

func (p *peers) converse() {
	p.request(0, methodInitialize, map[string]string{"protocolVersion": "2"})
	p.answer(0, 0, false)
	p.request(0, methodNew, nil)
	p.answer(0, 0, false)
	if rapid.IntRange(0, 4).Draw(p.T, "sweep") == 0 {
		p.sweep()
	}
	for range rapid.IntRange(5, 40).Draw(p.T, "steps") {
		p.step()
	}
	for side := range p.open {
		for len(p.open[side]) > 0 {
			p.answer(side, 0, true)
		}
	}
}

// compare holds what came through against what was sent.
func (p *peers) compare() {
	for side, to := range []string{"to the agent", "to the editor"} {
		for i := range max(len(p.sent[side]), len(p.got[side])) {
			if i >= len(p.got[side]) || i >= len(p.sent[side]) {
				p.Fatalf("%s: %d lines of %d: %q", to, len(p.got[side]), len(p.sent[side]), append(p.got[side], p.sent[side]...)[i:])
			}
			if got, want := p.got[side][i], p.sent[side][i]; normal(got) != normal(want) {
				p.Fatalf("%s, line %d:\n got %s\nwant %s", to, i, got, want)
			}
		}
	}
}
