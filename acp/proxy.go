package acp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"sidetask/acp/internal/turn"
	"sidetask/acp/internal/wire"
	"sidetask/render"
	"sidetask/rpc"
)

// maxOpen bounds the requests of one side that are remembered; more pass
// unwatched.
const maxOpen = 1 << 16

// proxy is the state of [Run]. Only the loop touches it; others hand it
// functions through post.
type proxy struct {
	o        Options
	settings rpc.ACPSettings
	inbox    chan func()
	ended    chan struct{} // closed when the loop has ended: post gives up then
	trace    *tracer
	stderr   *noise

	// The two sides, and what they say of themselves.
	gaps                  *wire.Gaps // of long lines
	editor, agent         *outlet
	fromEditor, fromAgent *inlet
	reads                 int // of both
	heard                 int // requests that the editor has made
	holdAgent             int // responses that wait for a bind: nothing is read from the agent meanwhile
	who                   who

	// What is open between them.
	sessions *roster
	requests map[string]*request // the editor's open requests, by id
	ours     ours
	asked    permits
	kept     shelf
	past     map[*byte]bool // short forms of answers that the editor has, by their first byte

	// The daemon.
	daemon     Daemon
	link       link
	resolver   resolver
	saying     saying
	background group

	life  *child // nil in a chain
	chain *chain // nil but in a chain
	end   ending
}

// request is an open request of the editor.
type request struct {
	number  int // in the order they came
	id      []byte
	method  string
	session *session
	ref     turn.Ref // of a prompt
	held    turn.Ref // of any other message that waits here behind a prompt
	asked   string   // the session that load, resume, close or delete names
	loads   *session // while the agent is at a load or resume
}

func newProxy(o Options) *proxy {
	gaps := wire.NewGaps("sidetask-gap-" + randomHex(16) + "-")
	p := &proxy{
		o:     o,
		inbox: make(chan func()), ended: make(chan struct{}),
		gaps: gaps, editor: newOutlet(gaps), agent: newOutlet(gaps),
		settings: DefaultSettings(), who: who{version: 1, agent: baseName(o.Agent)},
		sessions: newRoster(), requests: map[string]*request{}, ours: newOurs(), asked: permits{},
		kept: newShelf(gaps), past: map[*byte]bool{},
	}
	p.resolver.sessions = p.sessions
	if p.o.Scope == "" {
		p.o.Scope = "/"
	}
	p.trace = newTracer(o.Trace, gaps, func(err error) {
		p.logf("the trace ends here, the chat goes on: %v", err)
	})
	return p
}

// post hands the loop a function. It is false when the loop has ended.
func (p *proxy) post(f func()) bool {
	select {
	case p.inbox <- f:
		return true
	case <-p.ended:
		return false
	}
}

// after has the loop call f after a time.
func (p *proxy) after(d time.Duration, f func()) {
	time.AfterFunc(d, func() { p.post(f) })
}

// randomHex gives n random bytes in hex.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// logf tells a person, on stderr, one line. What an agent calls its sessions must
// not reach a terminal as more than text.
func (p *proxy) logf(format string, args ...any) {
	p.noise([]byte("sidetask: acp: " + render.OneLine(fmt.Sprintf(format, args...)) + "\n"))
}

// noise sends something to stderr.
func (p *proxy) noise(b []byte) {
	for _, piece := range p.gaps.Expand(b) {
		_, _ = p.stderr.Write(piece.Bytes)
	}
}

// toEditor sends a line to the editor, unless it has had that already: see wentBy.
func (p *proxy) toEditor(mark string, line []byte) {
	if p.isPast(line) {
		delete(p.past, &line[0])
		return
	}
	p.trace.line(toEditor, mark, line)
	p.editor.line(line)
}

// toAgent sends a line to the agent.
func (p *proxy) toAgent(mark string, line []byte) {
	if p.agent.failed {
		p.drop(toAgent, line)
		return
	}
	if p.chain == nil {
		p.trace.line(toAgent, mark, line)
		p.agent.line(line)
		return
	}
	wrapped := p.chain.wrap(line)
	if wrapped == nil { // no message
		p.drop(toAgent, line)
		return
	}
	p.trace.line(toAgent, mark, line)
	p.editor.line(wrapped)
}

// drop notes a message that goes nowhere.
func (p *proxy) drop(dir string, line []byte) {
	if p.isPast(line) {
		delete(p.past, &line[0])
	}
	p.trace.line(dir, markDropped, line)
	p.gaps.Forget(line)
}

// loop runs until both sides have come to their end. It is the only goroutine
// that touches p.
func (p *proxy) loop(ctx context.Context, signals <-chan os.Signal) {
	done, signalled := ctx.Done(), false
	for !p.over() {
		select {
		case f := <-p.inbox:
			f()
		case b := <-p.fromEditor.lines(p.mayReadEditor()):
			p.takeEditor(b)
		case b := <-p.fromAgent.lines(p.mayReadAgent()):
			p.takeAgent(b)
		case p.editor.ready() <- p.editor.next:
			p.editor.taken()
		case p.agent.ready() <- p.agent.next:
			p.agent.taken()
		case p.fromEditor.goOn(p.mayReadEditor()) <- struct{}{}:
			p.fromEditor.waits = false
		case p.fromAgent.goOn(p.mayReadAgent()) <- struct{}{}:
			p.fromAgent.waits = false
		case w := <-p.editor.wrote:
			p.editor.done(w)
			if w.err != nil {
				p.editorClosed()
			}
		case w := <-p.agent.wrote:
			p.agent.done(w)
		case <-done:
			done = nil
			p.told()
		case <-signals:
			if signalled {
				p.told()
			}
			signalled = true // the first one has ended ctx
		}
		p.resumeEditor()
		p.resumeAgent()
		p.closeAgentInput()
		p.finishAgent()
	}
}
