package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// tailFlags are the flags of `sidetask tail`.
type tailFlags struct {
	follow, raw bool
	lines       int
}

func (p *program) tailCommand() *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:   "tail ID",
		Short: "Print a task's output; takes nothing from the model",
		Long: `Print what a task has written, all that is kept of it or the last lines. You
are an independent reader: no agent misses what you have seen. Control
sequences are taken out (colours stay on a terminal) unless you ask for --raw.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("lines") && f.lines < 0 {
				return misuse("for example: sidetask tail -n 20 "+args[0], "-n takes a number of lines from 0 on")
			}
			if !cmd.Flags().Changed("lines") {
				f.lines = -1
			}
			return p.tail(cmd.Context(), f, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with what comes, until the task ends")
	flags.IntVarP(&f.lines, "lines", "n", 0, "only the last lines, this many")
	flags.BoolVar(&f.raw, "raw", false, "the bytes as they were written")
	return cmd
}

func (p *program) tail(ctx context.Context, f tailFlags, id string) error {
	l, err := p.link(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	req := tailRequest{id: id, follow: f.follow}
	if f.lines >= 0 {
		if req.from, err = lastLines(ctx, l, id, f.lines); err != nil {
			return err
		}
	}
	var out io.WriteCloser = newCleaner(p.stdout)
	if f.raw {
		out = rawOutput{p.stdout}
	}
	if err := p.copyOutput(ctx, l, req, out); err != nil {
		if f.follow {
			return p.leave(ctx, err, id)
		}
		return err
	}
	return nil
}

// rawOutput passes bytes on.
type rawOutput struct{ io.Writer }

// Close does nothing: stdout is not ours.
func (rawOutput) Close() error { return nil }

// lastLines finds the offset at which the last n lines begin: it looks at
// windows from the end backwards, each once, and keeps none of them.
func lastLines(ctx context.Context, l *link, id string, n int) (json.RawMessage, error) {
	last, err := tailOnce(ctx, l, id, number(-chunkBytes))
	if err != nil {
		return nil, err
	}
	end := last.Next
	if n == 0 {
		return number(end), nil
	}
	for {
		data, err := decode(last)
		if err != nil {
			return nil, err
		}
		if last.Next == end && bytes.HasSuffix(data, []byte("\n")) {
			data = data[:len(data)-1] // ends the last line, begins none
		}
		for len(data) > 0 {
			i := bytes.LastIndexByte(data, '\n')
			if i < 0 {
				break
			}
			if n--; n == 0 {
				return number(last.Offset + int64(i) + 1), nil
			}
			data = data[:i]
		}
		begin := last.Offset
		want := max(begin-chunkBytes, 0)
		if begin == 0 {
			return number(0), nil
		}
		last, err = window(ctx, l, id, want, begin)
		if err != nil {
			return nil, err
		}
		if last.Offset >= begin {
			return number(begin), nil // what lies before is no longer kept
		}
	}
}

// window reads the output from offset on, up to limit at most.
func window(ctx context.Context, l *link, id string, offset, limit int64) (rpc.TaskTailResult, error) {
	var part rpc.TaskTailResult
	err := l.call(ctx, rpc.MethodTaskTail, rpc.TaskTail{
		TaskRef: rpc.TaskRef{ID: id}, Offset: number(offset), MaxBytes: int(limit - offset),
	}, &part)
	return part, err
}

func tailOnce(ctx context.Context, l *link, id string, offset json.RawMessage) (rpc.TaskTailResult, error) {
	var part rpc.TaskTailResult
	err := l.call(ctx, rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: id}, Offset: offset, MaxBytes: chunkBytes}, &part)
	return part, err
}
