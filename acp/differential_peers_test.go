package acp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"

	"pgregory.net/rapid"
)

// peers draws what an editor and an agent say to each other that know the protocol.
type peers struct {
	maker
	b        *bench
	version  int
	ids, own int // ids given out, prompts of ours
	sweeps   int
	sessions []string
	open     [2][]openRequest // requests of the editor, of the agent
	sent     [2][]string      // what the editor wrote, what the agent wrote
	got      [2][]string      // what came of it
}

type openRequest struct{ id, method, session, result string }

// methods are those of a side.
func (p *peers) methods(side int) methods { return []methods{p.Editor, p.schema.Agent}[side] }

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
			if line = strings.TrimSuffix(line, "\n"); !closedRE.MatchString(line) {
				p.got[s.side] = append(p.got[s.side], line)
			}
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

// session draws one that there is, or not.
func (p *peers) session() string { return p.pick(append([]string{"none"}, p.sessions...)) }

// request has a side make a request that is valid for its method; fixed are the
// members that are not drawn.
func (p *peers) request(side int, method string, fixed map[string]string) {
	p.ids++
	id := p.pick([]string{fmt.Sprint(p.ids), fmt.Sprint(-p.ids), fmt.Sprintf(`"%d"`, p.ids), fmt.Sprintf(`"id %d\u00e9"`, p.ids)})
	session := p.session()
	r := openRequest{id: id, method: method, session: session}
	params := fmt.Sprintf(`{"sessionId":%q,"p":%s}`, session, value(p.T, 2))
	if kind, ok := p.methods(side).Requests[method]; ok {
		sh := p.def(kind.Params)
		if _, has := sh.Properties["sessionId"]; has {
			fixed = maps.Clone(fixed)
			if fixed == nil {
				fixed = map[string]string{}
			}
			fixed["sessionId"] = strconv.Quote(session)
		}
		params, r.result = p.object(sh, fixed), kind.Result
	}
	p.open[side] = append(p.open[side], r)
	p.say(side, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}

// answer has the other side answer the i-th open request of one; fails: perhaps
// with an error.
func (p *peers) answer(of, i int, fails bool) {
	r := p.open[of][i]
	p.open[of] = slices.Delete(p.open[of], i, i+1)
	fixed := map[string]string{}
	switch {
	case fails && rapid.IntRange(0, 5).Draw(p.T, "fails") == 0:
		p.say(1-of, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no","data":%s}}`, r.id, value(p.T, 1)))
		return
	case r.method == methodInitialize:
		fixed["protocolVersion"] = fmt.Sprint(p.version)
	case r.method == methodNew, r.method == methodFork:
		p.sessions = append(p.sessions, fmt.Sprintf("s%d", len(p.sessions)))
		fixed["sessionId"] = strconv.Quote(p.sessions[len(p.sessions)-1])
	}
	result := value(p.T, 2)
	if r.result != "" {
		result = p.object(p.def(r.result), fixed)
	}
	p.say(1-of, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.id, result))
}

// tell has a side send a notification.
func (p *peers) tell(side int, method string) {
	session := p.session()
	params := object(p.T, fmt.Sprintf(`"sessionId":%q`, session), `"p":`+value(p.T, 1))
	if kind, ok := p.methods(side).Notices[method]; ok {
		fixed := map[string]string{}
		switch {
		case method == methodCancelReq:
			fixed["requestId"] = `"none"`
			if len(p.open[side]) > 0 {
				fixed["requestId"] = p.open[side][0].id
			}
		case p.def(kind.Params).Properties["sessionId"] != nil:
			fixed["sessionId"] = strconv.Quote(session)
		}
		params = p.object(p.def(kind.Params), fixed)
	}
	p.say(side, fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params))
	if method == methodCancel { // it ends the turn: new prompts wait for that (ACP.md §4)
		for i := len(p.open[0]) - 1; i >= 0; i-- {
			if r := p.open[0][i]; r.session == session && r.method == methodPrompt {
				p.answer(0, i, true)
			}
		}
		if p.version == 2 {
			p.say(1, state(session, "idle"))
		}
	}
}

// update has the agent send a session/update.
func (p *peers) update(update string) {
	p.say(1, fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":%s}}`, p.session(), update))
}

// someUpdate draws one: of the schema, of none, or a card of ours.
func (p *peers) someUpdate() {
	switch n := rapid.IntRange(0, 9).Draw(p.T, "which update"); {
	case n == 0:
		p.update(object(p.T, fmt.Sprintf(`"sessionUpdate":%q`, p.pick(otherUpdates)), `"content":`+value(p.T, 2)))
	case n < 3:
		p.update(fmt.Sprintf(`{"sessionUpdate":%q,"toolCallId":"c","title":"t","kind":"other","status":"in_progress","rawInput":{"command":"make"},"_meta":{"claudeCode":{"toolName":"mcp__sidetask__task_start"}}}`, p.pick([]string{"tool_call", "tool_call_update"})))
	default:
		p.update(p.object(rapid.SampledFrom(p.variants("SessionUpdate")).Draw(p.T, "kind"), nil))
	}
}
