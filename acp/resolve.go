package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"sidetask/acp/internal/wire"
	"sidetask/rpc"
)

// cardPatience is how long a call waits for its card, where a call may come with
// another session's token: opencode shows the card 25 to 50 ms after the call.
const cardPatience = time.Second

// resolver says whose tool call one is, by what the agent shows (ACP.md §2, "Whose
// call is it?"). It belongs to the loop.
type resolver struct {
	sessions *roster
	forms    forms
	cardless bool // a call has waited for its card in vain: an agent that has shown none shows none
	waiting  []*resolve
}

// resolve is the daemon's question whose tool call it has.
type resolve struct {
	owner  string   // whose token came with the call
	of     *session // that owner's
	name   string
	args   []byte // compact
	meta   json.RawMessage
	answer chan resolved
}

type resolved struct {
	owner string
	err   error
}

// resolveCall answers owner/resolve. It runs on a goroutine of the connection.
func (p *proxy) resolveCall(ctx context.Context, r rpc.OwnerResolve) (any, error) {
	q := &resolve{owner: r.Owner, name: r.Name, args: compact(r.Arguments), meta: r.Meta, answer: make(chan resolved, 1)}
	if !p.post(func() {
		if p.resolver.ask(q) {
			p.after(cardPatience, func() { p.resolver.giveUp(q) })
		}
	}) {
		return nil, rpc.Errorf(rpc.CodeOwnerGone, "the proxy has ended")
	}
	select {
	case a := <-q.answer:
		if a.err != nil {
			return nil, a.err
		}
		return rpc.OwnerResolved{Owner: a.owner}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.ended:
		return nil, rpc.Errorf(rpc.CodeOwnerGone, "the proxy has ended")
	}
}

// ask answers a question, or has it wait for a card: at the latest until
// [resolver.giveUp].
func (v *resolver) ask(q *resolve) (waits bool) {
	switch named := v.byMeta(q.meta); {
	case len(named) > 1:
		q.answer <- resolved{err: ambiguous(q.name)}
		return false
	case len(named) == 1 && named[0].owner != "":
		q.answer <- resolved{owner: named[0].owner}
		return false
	}
	q.of = v.sessions.byOwner(q.owner)
	if q.of == nil || v.forms.perSession() || v.cardless && v.forms == (forms{}) || len(v.neighbours(q.of)) < 2 {
		q.answer <- resolved{owner: q.owner}
		return false
	}
	if v.byCard(q) {
		return false
	}
	for _, other := range v.waiting {
		if other.name == q.name && bytes.Equal(other.args, q.args) {
			q.answer <- resolved{err: ambiguous(q.name)}
			v.end(other, resolved{err: ambiguous(q.name)})
			return false
		}
	}
	v.waiting = append(v.waiting, q)
	return true
}

// giveUp answers a question whose card has not come: the token stands.
func (v *resolver) giveUp(q *resolve) {
	if v.end(q, resolved{owner: q.owner}) {
		v.cardless = true
	}
}

// shown lets a call go that waited for this card.
func (v *resolver) shown(s *session, c *card) {
	if !c.awaits() {
		return
	}
	for _, q := range v.waiting {
		if q.of.cwd == s.cwd && q.name == c.tool && bytes.Equal(compact(c.args), q.args) {
			c.matched = true
			v.end(q, resolved{owner: s.owner})
			return
		}
	}
}

// end answers a question, if it still waits.
func (v *resolver) end(q *resolve, a resolved) bool {
	i := slices.Index(v.waiting, q)
	if i < 0 {
		return false
	}
	v.waiting = slices.Delete(v.waiting, i, i+1)
	q.answer <- a
	return true
}

// byMeta finds the session that the call's own _meta names: by the session, or
// by the card of the call.
func (v *resolver) byMeta(raw json.RawMessage) (named []*session) {
	if _, ok := wire.Scan(raw); !ok {
		return nil
	}
	meta := wire.Span{To: len(raw)}
	for _, key := range []string{"sessionId", "threadId"} {
		if s := v.sessions.of(wire.Text(raw, meta, key)); s != nil {
			return []*session{s}
		}
	}
	for _, key := range []string{"claudecode/toolUseId", "callId"} {
		id := wire.Text(raw, meta, key)
		for _, s := range v.sessions.byID {
			if s.cards.byID[id] != nil && !slices.Contains(named, s) {
				named = append(named, s)
			}
		}
	}
	return named
}

// neighbours are the sessions that may share an MCP process with s: those of its folder.
func (v *resolver) neighbours(s *session) (all []*session) {
	for _, o := range v.sessions.byID {
		if o.cwd == s.cwd && o.owner != "" {
			all = append(all, o)
		}
	}
	return all
}

// byCard answers by the one session that shows a card of that call.
func (v *resolver) byCard(q *resolve) bool {
	var found *session
	var shown *card
	for _, s := range v.neighbours(q.of) {
		for _, c := range s.cards.byID {
			if !c.awaits() || c.tool != q.name || !bytes.Equal(compact(c.args), q.args) {
				continue
			}
			if found != nil && found != s {
				q.answer <- resolved{err: ambiguous(q.name)}
				return true
			}
			found, shown = s, c
		}
	}
	if found == nil {
		return false
	}
	shown.matched = true
	q.answer <- resolved{owner: found.owner}
	return true
}

// awaits reports whether a card may be that of a call at hand: it has just been
// shown. An older one is of a call that has its owner, or never comes.
func (c *card) awaits() bool {
	return !c.over && !c.matched && c.args != nil && time.Since(c.shown) <= cardPatience
}

func ambiguous(tool string) error {
	return rpc.Errorf(rpc.CodeInvalidParams, "two sessions of this agent make the same call of %s at once, so it is not known whose this is; retry", tool)
}

// compact makes arguments comparable: white space and key order do not count.
func compact(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}
