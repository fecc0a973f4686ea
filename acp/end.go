package acp

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"sidetask/acp/internal/wire"
)

const (
	// firstWord is how long an agent that died at once is outlived, so that the
	// editor's first request gets an answer.
	firstWord = time.Second
	// lastWords is how long the agent's stdout may stay open after its end.
	lastWords = 500 * time.Millisecond
	// killAfter is from the agent's SIGTERM to SIGKILL.
	killAfter = 2 * time.Second
)

// ending is how far the end has come.
type ending struct {
	editorGone  bool
	inputClosed bool // the agent's stdin
	agentOver   bool // the agent has ended and its last line is read
	treeOver    bool // nothing of its tree is left, or it was killed
	mayGo       bool // the editor has had its answers
	forced      bool // the editor takes all that too slowly
}

// over reports whether the loop may end.
func (p *proxy) over() bool {
	switch {
	case p.end.forced:
		return true
	case p.life == nil && !p.end.editorGone,
		p.life != nil && !(p.end.agentOver && p.end.treeOver && p.end.mayGo):
		return false
	}
	return p.editor.idle()
}

func (p *proxy) grace() time.Duration {
	return time.Duration(p.settings.AgentGraceMs) * time.Millisecond
}

// editorClosed begins the end: the agent's stdin is closed, and its tree ended
// if that does not help.
func (p *proxy) editorClosed() {
	if p.end.editorGone {
		return
	}
	p.end.editorGone, p.end.mayGo = true, true
	p.fromEditor.eof = true
	if p.life != nil && !p.life.exited {
		p.life.look()
		p.after(p.grace(), p.endAgent)
	}
}

// closeAgentInput closes the agent's stdin when the editor is gone and all that
// it said has been written.
func (p *proxy) closeAgentInput() {
	if p.life == nil || p.life.stdin == nil || p.end.inputClosed || !p.end.editorGone || !p.agent.idle() {
		return
	}
	p.end.inputClosed, p.agent.failed = true, true
	_ = p.life.stdin.Close()
}

// endAgent ends an agent that does not end by itself.
func (p *proxy) endAgent() {
	if p.life.exited {
		return
	}
	p.life.look()
	p.life.signal(syscall.SIGTERM)
	p.after(killAfter, func() {
		if !p.life.exited {
			p.life.look()
			p.life.signal(syscall.SIGKILL)
		}
	})
}

// agentClosed: the agent has closed its stdout. Without it there is no agent.
func (p *proxy) agentClosed() {
	if p.life.exited {
		p.finishAgent()
		return
	}
	p.life.look()
	p.after(p.grace(), p.endAgent)
}

// agentExited: the agent's process has ended. Its last lines may still be in the pipe.
func (p *proxy) agentExited(code int, status string) {
	p.life.exited, p.life.code, p.life.status = true, code, status
	if p.fromAgent.eof {
		p.finishAgent()
		return
	}
	p.after(lastWords, p.finishAgent)
}

// finishAgent answers what the agent left open and ends what it left running.
func (p *proxy) finishAgent() {
	if p.end.agentOver {
		return
	}
	p.end.agentOver, p.agent.failed = true, true
	p.fromAgent.eof = true
	for _, s := range p.allSessions() {
		p.letGo(s)
	}
	p.resumeAgent()
	p.closeLine()
	for _, r := range slices.SortedFunc(maps.Values(p.requests), func(a, b *request) int { return a.number - b.number }) {
		p.answerDead(r.id)
	}
	p.requests = map[string]*request{}
	p.endTree()
	if p.heard > 0 || p.end.editorGone {
		p.letEditorGo()
		return
	}
	p.after(firstWord, p.letEditorGo)
}

// letEditorGo ends the proxy once the editor has taken its answers.
func (p *proxy) letEditorGo() {
	p.end.mayGo = true
	p.after(p.grace(), func() { p.end.forced = true })
}

// endTree ends what the agent left running.
func (p *proxy) endTree() {
	if p.life.tree == nil || !p.life.tree.left() {
		p.end.treeOver = true
		return
	}
	p.life.signal(syscall.SIGTERM)
	p.after(lastWords, func() {
		p.life.signal(syscall.SIGKILL)
		p.end.treeOver = true
	})
}

// closeLine ends a line that the agent left in the middle of being passed on in pieces.
func (p *proxy) closeLine() {
	if p.editor.streaming {
		p.editor.piece(wire.Line{Bytes: []byte{'\n'}, Part: true})
	}
}

// answerDead answers a request that no agent will.
func (p *proxy) answerDead(id []byte) {
	text := "the agent has ended"
	if p.agentName != "" {
		text = fmt.Sprintf("the agent %s has ended", p.agentName)
	}
	text += " (" + p.life.status + ")"
	if last := p.life.stderr.text(); last != "" {
		text += ": " + last
	}
	p.answerError(id, -32603, text)
}
