package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sidetask/rpc"
)

func (p *program) attachCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "attach ID",
		Short: "Sit at the terminal of a task that was started with --pty",
		Long: `Sit at the terminal of a task that was started with --pty. ~. at the beginning
of a line leaves it running and goes; ~~ is one ~.`,
		ValidArgsFunction: p.taskIDs(liveTask),
		Args:              takes(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.attach(cmd.Context(), args[0])
		},
	}
}

// terminalSize is the size of this terminal, or the usual one where there is none.
func (p *program) terminalSize() rpc.Size {
	for _, stream := range []any{p.stdout, p.stdin} {
		if file, ok := terminal(stream); ok {
			if cols, rows, err := term.GetSize(int(file.Fd())); err == nil && cols > 0 && rows > 0 {
				return rpc.Size{Cols: cols, Rows: rows}
			}
		}
	}
	return rpc.Size{Cols: 80, Rows: 24}
}

// attachBytes of what was written before are shown again: a screenful or more.
const attachBytes = 64 << 10

// errDetached ends an attach by ~. .
var errDetached = errors.New("detached")

func (p *program) attach(ctx context.Context, id string) error {
	in, ok := terminal(p.stdin)
	if !ok {
		return fail("`sidetask tail -f "+id+"` and `sidetask write "+id+"` work without one", "attach needs a terminal on its input")
	}
	l, err := p.link(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	// Sets the size, and is refused for a task without a terminal before ours is touched.
	if err := p.resize(ctx, l, id); err != nil {
		return err
	}
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fail("try another terminal", "set the terminal to raw: %w", err)
	}
	err = p.session(ctx, l, id, in)
	if restoreErr := term.Restore(int(in.Fd()), old); restoreErr != nil {
		p.say("the terminal could not be set back (%v): run `stty sane`", restoreErr)
	}
	switch {
	case errors.Is(err, errDetached):
		p.say("left %s running: `sidetask attach %s` comes back", id, id)
		return nil
	case err != nil:
		return p.leave(ctx, l, err, id)
	}
	task, err := l.get(ctx, id)
	if err == nil {
		p.say("%s: %s", id, statusText(task))
	}
	return err
}

func (p *program) resize(ctx context.Context, l *link, id string) error {
	size := p.terminalSize()
	return l.call(ctx, rpc.MethodTaskWrite, rpc.TaskWrite{TaskRef: rpc.TaskRef{ID: id}, Resize: &size}, nil)
}

// session copies both ways until the task ends, ~. is typed or ctx ends.
func (p *program) session(ctx context.Context, l *link, id string, in io.Reader) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	done := make(chan struct{})
	go func() { // ends with ctx
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-resized:
				if err := p.resize(ctx, l, id); err != nil && ctx.Err() == nil {
					cancel(err)
				}
			}
		}
	}()
	// Reading a terminal cannot be called off: this goroutine may be left in its
	// last read, and the process is about to end.
	go func() {
		// What was typed is given once: no repetition when the daemon goes away.
		if err := p.feed(ctx, l.keeper.Call, id, &detachReader{from: in, lineStart: true}, false); err != nil {
			cancel(err)
		}
	}()
	err := p.copyOutput(ctx, l, tailRequest{id: id, from: number(-attachBytes), follow: true}, rawOutput{p.stdout})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	<-done
	return err
}

// detachReader passes on what is typed and ends with errDetached at ~. at the
// beginning of a line.
type detachReader struct {
	from      io.Reader
	lineStart bool
	tilde     bool // a ~ at the beginning of a line was typed and is held back
}

// Read reads what was typed, without what is meant for us.
func (d *detachReader) Read(b []byte) (int, error) {
	buf := make([]byte, max(len(b)/2, 1)) // each may become two: the ~ held back and itself
	n, err := d.from.Read(buf)
	out := b[:0]
	for _, c := range buf[:n] {
		if d.tilde {
			d.tilde = false
			if c == '.' {
				return len(out), errDetached
			}
			out = append(out, '~')
			if c == '~' {
				d.lineStart = false
				continue
			}
		}
		if c == '~' && d.lineStart {
			d.tilde = true
			continue
		}
		d.lineStart = c == '\r' || c == '\n'
		out = append(out, c)
	}
	return len(out), err
}
