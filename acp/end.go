package acp

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"sidetask/acp/internal/turn"
)

const (
	// firstWord is how long an agent that died at once is outlived, so that the
	// editor's first request gets an answer.
	firstWord = time.Second
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
	stuck       bool // the editor is gone and takes nothing any more
}

// over reports whether the loop may end.
func (p *proxy) over() bool {
	switch {
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
	p.watchEditor()
	for _, s := range p.sessions.all() {
		s.machine.Configure(p.machineSettings())
		p.retire(s)
	}
	if p.life != nil && !p.life.exited {
		p.life.look()
		p.after(p.grace(), p.endAgent)
	}
}

// told: somebody has the proxy end. Of one whose editor is gone already no time is
// taken that an editor's patience may not have: its next signal is SIGKILL, and an
// agent that ignores the end of its stdin would stay for ever.
func (p *proxy) told() {
	switch {
	case !p.end.editorGone:
		p.editorClosed()
	case p.life != nil:
		p.endAgent()
	}
}

// retire ends what we do of our own for a session of an editor that is gone, once
// its turn is over: a wake that nobody sees would be spent for nothing, and its
// notice be missing when the session is resumed.
func (p *proxy) retire(s *session) {
	if p.end.editorGone && !s.busy {
		p.step(s, turn.Gone{})
	}
}

// watchEditor gives up an editor that is gone and has taken nothing for a while.
// One that is still there may take its time, as it may without us.
func (p *proxy) watchEditor() {
	before := p.editor.moved.Load()
	p.after(max(p.grace(), lastWords), func() {
		if p.editor.idle() || p.editor.moved.Load() != before {
			p.watchEditor()
			return
		}
		p.editor.fail()
		p.end.stuck = true
	})
}

// closeAgentInput closes the agent's stdin when the editor is gone and all that
// it said has been written. What waits here for a claim or behind a turn of ours
// goes first; endAgent bounds that.
func (p *proxy) closeAgentInput() {
	if p.end.editorGone && p.agent.idle() && (p.kept.lines == 0 || p.agent.failed) {
		p.closeInput()
	}
}

func (p *proxy) closeInput() {
	if p.life == nil || p.life.stdin == nil || p.end.inputClosed {
		return
	}
	p.end.inputClosed = true
	p.agent.fail()
	_ = p.life.stdin.Close()
}

// endAgent ends an agent that does not end by itself.
func (p *proxy) endAgent() {
	if p.life.exited {
		return
	}
	p.closeInput()
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
	if !p.life.exited {
		p.life.look()
		p.after(p.grace(), p.endAgent)
	}
}

// agentExited: the agent's process has ended. Its last lines may still be in the
// pipe, in the reader, or here.
func (p *proxy) agentExited(code int, status string) {
	p.life.exited, p.life.code, p.life.status = true, code, status
}

// finishAgent comes after the agent's last line: it answers what the agent left
// open and ends what it left running. An answer that waits here goes out first.
func (p *proxy) finishAgent() {
	if p.life == nil || !p.life.exited || p.end.agentOver {
		return
	}
	if p.holdAgent > 0 {
		p.letAllGo()
	}
	if !p.fromAgent.spent() || p.holdAgent > 0 {
		return
	}
	p.end.agentOver = true
	p.agent.fail()
	for _, k := range p.kept.answered() {
		if k.answer != nil {
			p.step(k.session, turn.AgentGone{})
		}
	}
	for _, s := range p.sessions.all() {
		p.step(s, turn.AgentGone{})
	}
	if text := p.mute(); text != "" {
		p.logf("%s", text)
	}
	for _, r := range slices.SortedFunc(maps.Values(p.requests), func(a, b *request) int { return a.number - b.number }) {
		p.answerDead(r.id)
	}
	p.requests = map[string]*request{}
	clear(p.asked)
	p.endTree()
	if p.heard > 0 || p.end.editorGone {
		p.letEditorGo()
		return
	}
	p.after(firstWord, p.letEditorGo)
}

// letEditorGo ends the proxy once the editor has taken its answers.
func (p *proxy) letEditorGo() { p.end.mayGo = true }

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

// letAllGo sends the held answers of session requests.
func (p *proxy) letAllGo() {
	for _, s := range p.sessions.all() {
		p.letGo(s)
	}
}

// answerDead answers a request that no agent will.
func (p *proxy) answerDead(id []byte) {
	text := "the agent has ended"
	if p.who.agent != "" {
		text = fmt.Sprintf("the agent %s has ended", p.who.agent)
	}
	text += " (" + p.life.status + ")"
	if last := p.life.stderr.text(); last != "" {
		text += ": " + last
	}
	if mute := p.mute(); mute != "" {
		text += " (" + mute + ")"
	}
	p.answerError(id, -32603, text)
}
