package acp

import (
	"fmt"
	"testing"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
)

// A request for permission that the editor never answers is forgotten with its
// turn, one that we have denied with its session, all with the agent.
func TestAskedIsForgotten(t *testing.T) {
	for _, c := range []struct {
		name string
		ends func(p *proxy, s *session)
		left int // denied ones, whose late answer is to be dropped
	}{
		{"turn over", func(p *proxy, s *session) { p.turnOver(s, turn.EndTurn) }, 1},
		{"closed", func(p *proxy, s *session) { p.endSession(s) }, 0},
		{"not opened", func(p *proxy, s *session) { p.notOpened(s, "s") }, 0},
		{"opened anew", func(p *proxy, _ *session) { p.named(&session{machine: turn.New(turn.Settings{})}, "s") }, 0},
		{"agent ended", func(p *proxy, _ *session) {
			p.life = &child{exited: true, stderr: &lastLine{}}
			p.fromAgent, p.heard = &inlet{eof: true}, 1
			p.finishAgent()
		}, 0},
	} {
		p := newProxy(Options{})
		s := &session{id: "s", machine: turn.New(turn.Settings{})}
		p.sessions.put(s)
		for id := range 3 {
			line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"s"}}`+"\n", id)
			e, _ := wire.Scan(line)
			p.fromServer(line, e)
			if id == 0 {
				p.denyPermissions(s)
			}
		}
		if c.ends(p, s); len(p.asked) != c.left {
			t.Errorf("%s: %d requests are remembered, want %d", c.name, len(p.asked), c.left)
		}
	}
}
