package acp

import (
	"bytes"

	"sidetask/acp/internal/wire"
)

// batch is what one read gave.
type batch struct {
	lines []wire.Line
	err   error
}

// inlet is one direction's beginning. Its reader has its own goroutine, which
// ends with the stream, or when the loop has ended and the stream is closed.
type inlet struct {
	batches chan batch
	rest    []wire.Line // of the last batch, while the loop pauses; nothing is read then
	eof     bool
	long    streamed

	// After a long line the reader waits here until that has been written, so
	// that no second one is in memory.
	more  chan struct{}
	waits bool
}

func newInlet() *inlet { return &inlet{batches: make(chan batch), more: make(chan struct{})} }

// goOn gives the channel to let a waiting reader go on, or nil.
func (in *inlet) goOn(may bool) chan<- struct{} {
	if in == nil || !in.waits || !may {
		return nil
	}
	return in.more
}

// longLine is the size from which lines are taken one at a time.
const longLine = 4 << 20

// isLong reports whether lines have one of that size, or pieces of one.
func isLong(lines []wire.Line) bool {
	size := 0
	for _, l := range lines {
		if l.Part {
			return true
		}
		for _, g := range l.Gaps {
			for _, p := range g.Pieces {
				size += len(p)
			}
		}
	}
	return size >= longLine
}

// lines gives the channel to read from, or nil while the other side is to wait.
func (in *inlet) lines(may bool) <-chan batch {
	if in == nil || in.eof || !may {
		return nil
	}
	return in.batches
}

// readAll is the reader.
func (in *inlet) readAll(lines *wire.Reader, ended <-chan struct{}) {
	for {
		got, err := lines.Read()
		select {
		case in.batches <- batch{got, err}:
		case <-ended:
			return
		}
		if err != nil {
			return
		}
		if isLong(got) {
			got = nil
			select {
			case <-in.more:
			case <-ended:
				return
			}
		}
	}
}

// arrived notes what a reader has handed over.
func (p *proxy) arrived(in *inlet, b batch) {
	p.reads++
	in.waits = b.err == nil && isLong(b.lines)
	for _, l := range b.lines {
		p.gaps.Add(l)
	}
	in.rest = b.lines
}

// mayReadEditor: what the editor says becomes lines to the agent, lines that
// wait here (see [proxy.limitKept]), and (little) answers of ours.
func (p *proxy) mayReadEditor() bool {
	if p.chain != nil && (p.editor.full() || p.holdAgent > 0) {
		return false
	}
	return !p.agent.full()
}

// mayReadAgent: what the agent says becomes lines to the editor.
func (p *proxy) mayReadAgent() bool {
	return !p.editor.full() && p.holdAgent == 0
}

// takeEditor works off what the editor sent.
func (p *proxy) takeEditor(b batch) {
	in := p.fromEditor
	p.arrived(in, b)
	p.lookSoon()
	p.resumeEditor()
	if b.err != nil {
		in.eof = true
		p.editorClosed()
	}
}

// resumeEditor goes on with what the editor sent. Only as a component of a chain
// it pauses: there the agent's messages come this way, too.
func (p *proxy) resumeEditor() {
	in := p.fromEditor
	for len(in.rest) > 0 && (p.chain == nil || p.holdAgent == 0) {
		l := in.rest[0]
		in.rest = in.rest[1:]
		switch {
		case l.Part:
			p.editorPiece(l)
		default:
			p.editorLine(bytes.Clone(l.Bytes)) // something of it may be kept
		}
	}
	if len(in.rest) == 0 {
		in.rest = nil
	}
}

// takeAgent works off what the agent sent. A response that must wait for the
// daemon stops it; resumeAgent goes on.
func (p *proxy) takeAgent(b batch) {
	in := p.fromAgent
	p.arrived(in, b)
	p.lookSoon()
	p.resumeAgent()
	if b.err != nil {
		in.eof = true
		p.agentClosed()
	}
}

// spent reports whether the stream has ended and all of it was worked off.
func (in *inlet) spent() bool { return in.eof && len(in.rest) == 0 }

func (p *proxy) resumeAgent() {
	in := p.fromAgent
	if in == nil {
		return
	}
	for len(in.rest) > 0 {
		if p.holdAgent > 0 && p.life.exited {
			p.letAllGo() // a bind is for what we would say to the agent
		}
		if p.holdAgent > 0 {
			break
		}
		l := in.rest[0]
		in.rest = in.rest[1:]
		if l.Part {
			p.agentPiece(l)
			continue
		}
		p.agentLine(l.Bytes)
	}
	if len(in.rest) == 0 {
		in.rest = nil
	}
}
