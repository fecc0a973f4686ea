package acp

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// lastCalls is how long calls to the daemon that are under way at the end may
// take: a notice whose acknowledgement is lost is told again.
const lastCalls = 500 * time.Millisecond

// Run proxies between the editor and the agent until one of them ends, and gives
// the exit status: the agent's own. When ctx ends it does as if the editor had
// closed its end; if the editor is gone already, and at a second signal, the agent
// is ended at once. In is read until Run returns, and one read of it may be left
// waiting then; so may a write to an Out or Err that nobody reads.
//
// The error says why there was no agent; the editor has been told, too.
func Run(ctx context.Context, o Options) (exit int, err error) {
	ctx, stop := whileNotHungUp(ctx)
	defer stop()
	signals, stopSignals := allSignals()
	defer stopSignals()
	stderr := newNoise(o.Err)
	defer stderr.end(lastWords)
	if len(o.Agent) == 0 {
		return run(ctx, signals, o, stderr, nil), nil
	}
	agent, err := startChild(o.Agent, stderr)
	if err != nil {
		agent = &child{exited: true, code: 127, status: err.Error(), stderr: &lastLine{to: io.Discard}}
	}
	return run(ctx, signals, o, stderr, agent), err
}

// run is [Run] with an agent that has been started, or none under a conductor.
func run(ctx context.Context, signals <-chan os.Signal, o Options, stderr *noise, agent *child) (exit int) {
	p := newProxy(o)
	p.stderr = stderr
	p.life = agent
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	p.background.ctx = life
	finish := p.start()
	p.loop(ctx, signals)
	close(p.ended)
	timer := time.AfterFunc(lastCalls, end)
	p.background.work.Wait()
	timer.Stop()
	end()
	if p.daemon != nil {
		_ = p.daemon.Close()
	}
	finish()
	if agent == nil {
		return 0
	}
	return agent.code
}

// start begins the readers and writers. The result ends them, and waits.
func (p *proxy) start() (finish func()) {
	p.fromEditor = newInlet()
	go p.fromEditor.readAll(p.gaps.Reader(p.o.In, 'e'), p.ended) // ends with the editor's stream: a read of it cannot be ended
	var writer, agent sync.WaitGroup
	writer.Go(func() { p.editor.writeAll(p.o.Out, p.ended) })
	c := p.life
	switch {
	case c == nil:
		p.chain = newChain()
	case c.stdin == nil:
		p.agent.failed, p.end.agentOver, p.end.treeOver = true, true, true
		p.after(firstWord, p.letEditorGo)
	default:
		p.fromAgent = newInlet()
		stdout := newLastReader(c.stdout)
		agent.Go(func() { p.fromAgent.readAll(p.gaps.Reader(stdout, 'a'), p.ended) })
		p.lookSoon()
		agent.Go(func() { p.agent.writeAll(c.stdin, p.ended) })
		agent.Go(func() {
			code, status := c.wait()
			stdout.agentEnded()
			p.post(func() { p.agentExited(code, status) })
		})
	}
	return func() {
		close(p.editor.work)
		if !p.end.stuck {
			writer.Wait()
		}
		if c != nil && c.stdin != nil {
			close(p.agent.work)
			_, _ = c.stdin.Close(), c.stdout.Close()
			agent.Wait()
		}
	}
}

// whileNotHungUp gives a context that also ends when the terminal does. A broken
// pipe is an error of the write that met it, not the end of the process: the
// agent must be ended first.
func whileNotHungUp(ctx context.Context) (context.Context, context.CancelFunc) {
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	return ctx, func() {
		stop()
		signal.Stop(pipes)
	}
}

// allSignals brings the signals that have the proxy end. The first of them ends
// the context of [Run], too.
func allSignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c, func() { signal.Stop(c) }
}
