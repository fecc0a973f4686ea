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

// resolve is the daemon's question whose tool call it has, while it waits for
// the card.
type resolve struct {
	of     *session // whose token came with the call
	name   string
	args   []byte // compact
	answer chan resolved
}

type resolved struct {
	owner string
	err   error
}

// resolveCall answers owner/resolve (ACP.md §2, "Whose call is it?"). It runs on
// a goroutine of the connection.
func (p *proxy) resolveCall(ctx context.Context, r rpc.OwnerResolve) (any, error) {
	q := &resolve{name: r.Name, args: compact(r.Arguments), answer: make(chan resolved, 1)}
	if !p.post(func() { p.resolve(q, r) }) {
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

func (p *proxy) resolve(q *resolve, r rpc.OwnerResolve) {
	switch named := p.byMeta(r.Meta); {
	case len(named) > 1:
		q.answer <- resolved{err: ambiguous(q.name)}
		return
	case len(named) == 1 && named[0].owner != "":
		q.answer <- resolved{owner: named[0].owner}
		return
	}
	q.of = p.byOwner(r.Owner)
	if q.of == nil || p.forms.perSession() || p.cardless && p.forms == (forms{}) || len(p.neighbours(q.of)) < 2 {
		q.answer <- resolved{owner: r.Owner}
		return
	}
	if p.byCard(q) {
		return
	}
	for _, other := range p.resolves {
		if other.name == q.name && bytes.Equal(other.args, q.args) {
			q.answer <- resolved{err: ambiguous(q.name)}
			p.unresolve(other, resolved{err: ambiguous(q.name)})
			return
		}
	}
	p.resolves = append(p.resolves, q)
	p.after(cardPatience, func() {
		p.cardless = p.cardless || slices.Contains(p.resolves, q)
		p.unresolve(q, resolved{owner: r.Owner})
	})
}

// byMeta finds the session that the call's own _meta names: by the session, or
// by the card of the call.
func (p *proxy) byMeta(raw json.RawMessage) (named []*session) {
	if _, ok := wire.Scan(raw); !ok {
		return nil
	}
	meta := wire.Span{To: len(raw)}
	for _, key := range []string{"sessionId", "threadId"} {
		if s := p.sessions[wire.Text(raw, meta, key)]; s != nil {
			return []*session{s}
		}
	}
	for _, key := range []string{"claudecode/toolUseId", "callId"} {
		id := wire.Text(raw, meta, key)
		for _, s := range p.sessions {
			if s.cards.byID[id] != nil && !slices.Contains(named, s) {
				named = append(named, s)
			}
		}
	}
	return named
}

// neighbours are the sessions that may share an MCP process with s: those of its folder.
func (p *proxy) neighbours(s *session) (all []*session) {
	for _, o := range p.sessions {
		if o.cwd == s.cwd && o.owner != "" {
			all = append(all, o)
		}
	}
	return all
}

// byCard answers by the one session that shows a card of that call.
func (p *proxy) byCard(q *resolve) bool {
	var found *session
	var shown *card
	for _, s := range p.neighbours(q.of) {
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

// cardShown lets a call go that waited for this card.
func (p *proxy) cardShown(s *session, c *card) {
	if !c.awaits() {
		return
	}
	for _, q := range p.resolves {
		if q.of.cwd == s.cwd && q.name == c.tool && bytes.Equal(compact(c.args), q.args) {
			c.matched = true
			p.unresolve(q, resolved{owner: s.owner})
			return
		}
	}
}

// unresolve answers a question that waited.
func (p *proxy) unresolve(q *resolve, a resolved) {
	if i := slices.Index(p.resolves, q); i >= 0 {
		p.resolves = slices.Delete(p.resolves, i, i+1)
		q.answer <- a
	}
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
