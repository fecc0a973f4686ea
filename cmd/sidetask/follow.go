package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
	out := newCleaner(p.stdout)
	if err := p.copyOutput(ctx, l, tailRequest{id: id, follow: true}, out); err != nil {
		return p.leave(ctx, err, id)
	}
	task, err := l.wait(ctx, id, longWait)
	if err != nil {
		return p.leave(ctx, err, id)
	}
	p.tellFailure(task)
	return ended(task)
}

// leave says, where a signal ended only this command line, that the task goes on.
func (p *program) leave(ctx context.Context, err error, id string) error {
	if _, ok := stopped(ctx); ok && errors.Is(err, context.Canceled) {
		p.say("%s goes on: `sidetask tail -f %s` follows it, `sidetask kill %s` stops it", id, id, id)
	}
	return err
}

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
// middle is waited for; the offset makes it go on where it was.
func (p *program) copyOutput(ctx context.Context, l *link, req tailRequest, out io.WriteCloser) error {
	params := rpc.TaskTail{TaskRef: rpc.TaskRef{ID: req.id}, Offset: req.from, MaxBytes: chunkBytes, Follow: req.follow}
	for {
		var part rpc.TaskTailResult
		if err := l.call(ctx, rpc.MethodTaskTail, params, &part); err != nil {
			_ = out.Close()
			return err
		}
		data, err := decode(part)
		if err != nil {
			return err
		}
		if part.Lost > 0 {
			if err := p.tellGap(out, part.Lost); err != nil {
				return err
			}
		}
		if _, err := out.Write(data); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		if part.EOF || !req.follow && len(data) == 0 {
			return out.Close()
		}
		params.Offset = number(part.Next)
	}
}

// tellGap says where output is no longer kept: in its place and on a line of its
// own, but for raw bytes, which are nobody's but the task's.
func (p *program) tellGap(out io.Writer, lost int64) error {
	if c, ok := out.(*cleaner); ok {
		return c.insert(fmt.Sprintf("[%d bytes of output are gone]", lost))
	}
	p.say("%d bytes of output are gone", lost)
	return nil
}

// decode gives the bytes of one answer.
func decode(part rpc.TaskTailResult) ([]byte, error) {
	if part.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(part.Data)
	}
	return []byte(part.Data), nil
}
