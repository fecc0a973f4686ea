package acp

import (
	"strings"
	"testing"
	"time"
)

// A call that may come with another session's token waits for its card. An agent
// that has shown none is waited for once; what it does show counts again (ACP.md §2).
func TestResolver(t *testing.T) {
	v := &resolver{sessions: newRoster()}
	a := &session{id: "a", cwd: "/w", owner: "o-a"}
	b := &session{id: "b", cwd: "/w", owner: "o-b"}
	v.sessions.put(a)
	ask := func() (q *resolve, waits bool) {
		q = &resolve{owner: "o-a", name: "task_list", args: []byte("{}"), answer: make(chan resolved, 1)}
		return q, v.ask(q)
	}
	answer := func(q *resolve) string {
		select {
		case got := <-q.answer:
			if got.err != nil {
				return got.err.Error()
			}
			return got.owner
		default:
			return "none"
		}
	}
	if q, waits := ask(); waits || answer(q) != "o-a" {
		t.Error("a session alone in its folder waits")
	}
	v.sessions.put(b)
	q, waits := ask()
	if !waits {
		t.Fatal("a call that may be another's does not wait")
	}
	v.giveUp(q)
	v.giveUp(q)
	if got := answer(q); got != "o-a" || answer(q) != "none" {
		t.Errorf("without a card the call is %s's, or is answered twice", got)
	}
	if _, waits := ask(); waits {
		t.Error("an agent without cards is waited for again")
	}
	v.forms[formOpencode] = true
	first, _ := ask()
	v.shown(b, &card{tool: "task_list", args: []byte(" {} "), shown: time.Now()})
	if got := answer(first); got != "o-b" {
		t.Errorf("the card of b says %s", got)
	}
	first, _ = ask()
	second, waits := ask()
	if waits || !strings.Contains(answer(first), "at once") || !strings.Contains(answer(second), "at once") {
		t.Error("two equal calls are told apart")
	}
	v.forms[formClaude] = true
	if q, waits := ask(); waits || answer(q) != "o-a" {
		t.Error("an agent with an MCP process a session is waited for")
	}
}
