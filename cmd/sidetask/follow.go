package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"sidetask/rpc"
)

// chunkBytes is what one task/tail asks for: large enough to be fast, small
// enough that an answer is there soon.
const chunkBytes = 256 << 10

// followRun is `run -f`: the output until the end, then the command's own exit status.
func (p *program) followRun(ctx context.Context, l *link, id string, f runFlags) error {
	if f.stdin {
		// Reading our stdin cannot be called off, so this goroutine may outlive
		// the follow by the moment until the process ends.
		go func() {
			if err := p.feed(ctx, l.keeper.Call, id, p.stdin, true); err != nil && ctx.Err() == nil {
				p.say("input for %s: %v", id, err)
			}
		}()
	}
	keepPipeErrors()
	var behind *behindError
	switch err := p.copyOutput(ctx, l, tailRequest{id: id, follow: true}, p.taskOutput(f.raw)); {
	case errors.As(err, &behind):
		p.say("%v", behind)
		p.say("%s", behind.Hint())
		p.tellFailure(behind.task)
		return ended(behind.task)
	case err != nil:
		return p.leave(ctx, l, err, id)
	}
	task := l.ended.Load() // heard beside the output: the daemon may be gone by now
	if task == nil {
		waited, err := l.wait(ctx, id, time.Time{})
		if err != nil {
			return p.leave(ctx, l, err, id)
		}
		task = &waited
	}
	p.tellFailure(*task)
	return ended(*task)
}

// leave says, where only this command line ended, that the task goes on: by a
// signal, or because nobody reads what it writes (`| head`).
func (p *program) leave(ctx context.Context, l *link, err error, id string) error {
	_, bySignal := stopped(ctx)
	unread := errors.Is(err, syscall.EPIPE)
	switch {
	case bySignal && errors.Is(err, context.Canceled):
	case unread:
		err = exit(128 + int(syscall.SIGPIPE))
		if task, getErr := l.get(ctx, id); getErr == nil && task.Status.Terminal() && leftovers(task) == 0 {
			return err
		}
	default:
		return err
	}
	p.say("%s goes on: `sidetask tail -f %s` follows it, `sidetask kill %s` stops it", id, id, id)
	return err
}

// keepPipeErrors makes a write that nobody reads an error instead of this
// process's end. To be caught is not inherited, as to be ignored would be: a
// daemon that is started later has the signal as usual.
func keepPipeErrors() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// tellFailure says why a task ended, where its exit status alone does not.
func (p *program) tellFailure(t rpc.Task) {
	if t.Status != rpc.StatusCompleted {
		p.say("%s: %s", t.ID, statusText(t))
	}
}

// tailRequest says which output is copied.
type tailRequest struct {
	id     string
	from   json.RawMessage // absent: what is kept of the beginning on
	follow bool
}

// copyOutput copies a task's output as an independent reader, up to what is
// there now or, with follow, up to its end. A daemon that goes away in the
// middle is waited for; the offset makes it go on where it was. One that somebody
// stopped when the task had ended is not ([behindError]).
//
// The next part is fetched while one is written. A follower that is slower than
// its task nevertheless loses the middle, as soon as the spool's bound is between
// them: a command never waits for its readers.
func (p *program) copyOutput(ctx context.Context, l *link, req tailRequest, out io.WriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	parts := make(chan tailPart)
	fetched := make(chan error, 1)
	go func() { fetched <- fetchOutput(ctx, l, req, parts) }() // ends with ctx, or when there is no more
	var hearing sync.WaitGroup
	if req.follow {
		hearing.Go(func() { l.hearEnd(ctx, req.id) })
	}
	lost, err := p.writeParts(parts, out)
	cancel()
	hearing.Wait()
	if fetchErr := <-fetched; err == nil {
		err = fetchErr
	}
	if lost > 0 {
		p.say("in all %d bytes of the output of %s are gone: no more than commands.spoolBytes is kept of a task", lost, req.id)
		p.say("to have it all, raise that in the configuration (`sidetask config path` says where it is), or let the command write a file")
	}
	return err
}

// fetchOutput gets part after part, up to the last or the end of ctx.
func fetchOutput(ctx context.Context, l *link, req tailRequest, parts chan<- tailPart) error {
	defer close(parts)
	params := rpc.TaskTail{TaskRef: rpc.TaskRef{ID: req.id}, Offset: req.from, MaxBytes: chunkBytes, Follow: req.follow}
	for {
		var raw json.RawMessage
		if err := l.call(ctx, rpc.MethodTaskTail, params, &raw); err != nil {
			return err
		}
		part, err := splitTail(raw)
		if err != nil {
			return err
		}
		select {
		case parts <- part:
		case <-ctx.Done():
			return ctx.Err()
		}
		if part.EOF || !req.follow && part.empty() {
			return nil
		}
		params.Offset = number(part.Next)
	}
}

// writeParts writes what comes until the end of the channel, and says how much is
// missing.
func (p *program) writeParts(parts <-chan tailPart, out io.WriteCloser) (lost int64, err error) {
	for part := range parts {
		data, err := part.bytes()
		if err != nil {
			return lost, err
		}
		if part.Lost > 0 {
			lost += part.Lost
			if err := p.tellGap(out, part.Offset, part.Lost); err != nil {
				return lost, err
			}
		}
		if _, err := out.Write(data); err != nil {
			return lost, fmt.Errorf("write output: %w", err)
		}
	}
	return lost, out.Close()
}

// tellGap says where output is no longer kept: on a terminal in its place and on
// a line of its own; elsewhere stdout has nothing that is not the task's.
func (p *program) tellGap(out io.Writer, offset, lost int64) error {
	if c, ok := out.(*cleaner); ok && c.terminal {
		return c.insert(fmt.Sprintf("[%d bytes of output are gone]", lost))
	}
	p.say("%d bytes of output are gone, from byte %d on", lost, offset-lost)
	return nil
}
