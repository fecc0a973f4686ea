package acp

import (
	"context"
	"io"
)

// pipes runs a proxy between io.Pipes: nothing in them has a buffer.
type pipes struct {
	editor, agent     *io.PipeWriter // to write to
	toEditor, toAgent *io.PipeReader
	died              chan int // takes the agent's exit status
	done              chan struct{}
}

// newPipes makes one with these options, as far as they are not about the ends.
func newPipes(o Options) *pipes {
	p := &pipes{died: make(chan int, 1), done: make(chan struct{})}
	edIn, editor := io.Pipe()
	toEditor, edOut := io.Pipe()
	agOut, agent := io.Pipe()
	toAgent, agIn := io.Pipe()
	p.editor, p.agent, p.toEditor, p.toAgent = editor, agent, toEditor, toAgent
	o.In, o.Out, o.Agent = edIn, edOut, []string{"agent"}
	if o.Err == nil {
		o.Err = io.Discard
	}
	c := &child{stdin: agIn, stdout: agOut, stderr: &lastLine{to: io.Discard}, wait: func() (int, string) { return <-p.died, "" }}
	go func() {
		defer close(p.done)
		runWith(context.Background(), o, c)
	}()
	return p
}

// end has both sides go away, and nobody read any more.
func (p *pipes) end() {
	_, _ = p.toAgent.Close(), p.toEditor.Close()
	_ = p.editor.Close()
	p.died <- 0
	_ = p.agent.Close()
	<-p.done
}
