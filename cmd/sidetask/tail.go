package main

import (
	"bytes"
	"context"
	"encoding/base64"
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
are an independent reader: no agent misses what you have seen. The output is
made fit to be read, unless you ask for --raw:
` + cleaning,
		ValidArgsFunction: p.taskIDs(anyTask),
		Args:              takes(1, 1),
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
		if req.from, err = lastLines(ctx, l.call, id, f.lines); err != nil {
			return err
		}
	}
	if f.follow {
		keepPipeErrors()
		return p.leave(ctx, l, p.copyOutput(ctx, l, req, p.taskOutput(f.raw)), id)
	}
	return p.copyOutput(ctx, l, req, p.taskOutput(f.raw))
}

// cleaning says in a help text what [cleaner] does.
const cleaning = `escape sequences and other controls are taken out, bytes that are no UTF-8 are
shown as U+FFFD; on a terminal colours stay, elsewhere a line that was overwritten
(progress) stays as it was last.`

// taskOutput is stdout for what a task has written.
func (p *program) taskOutput(raw bool) io.WriteCloser {
	if raw {
		return rawOutput{p.stdout}
	}
	return newCleaner(p.stdout)
}

// rawOutput passes bytes on.
type rawOutput struct{ io.Writer }

// Close does nothing: stdout is not ours.
func (rawOutput) Close() error { return nil }

// lastLines finds the offset at which the last n lines begin: it looks at
// windows from the end backwards, each once, and keeps none of them.
func lastLines(ctx context.Context, call caller, id string, n int) (json.RawMessage, error) {
	part, err := window(ctx, call, id, number(-chunkBytes), chunkBytes)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return number(part.Next), nil
	}
	for last := true; ; last = false {
		data, err := decode(part)
		if err != nil {
			return nil, err
		}
		if last {
			data = bytes.TrimSuffix(data, []byte("\n")) // it ends the last line and begins none
		}
		for i := bytes.LastIndexByte(data, '\n'); i >= 0; i = bytes.LastIndexByte(data, '\n') {
			if n--; n == 0 {
				return number(part.Offset + int64(i) + 1), nil
			}
			data = data[:i]
		}
		begin := part.Offset
		from := max(begin-chunkBytes, 0)
		part, err = window(ctx, call, id, number(from), begin-from)
		if err != nil {
			return nil, err
		}
		if part.Offset >= begin {
			return number(begin), nil // the beginning, or what lies before is no longer kept
		}
	}
}

// window reads up to n bytes of output from offset on.
func window(ctx context.Context, call caller, id string, offset json.RawMessage, n int64) (rpc.TaskTailResult, error) {
	var part rpc.TaskTailResult
	err := call(ctx, rpc.MethodTaskTail, rpc.TaskTail{TaskRef: rpc.TaskRef{ID: id}, Offset: offset, MaxBytes: int(max(n, 1))}, &part)
	return part, err
}

// decode gives the bytes of one answer.
func decode(part rpc.TaskTailResult) ([]byte, error) {
	if part.Encoding == "base64" {
		return base64.StdEncoding.DecodeString(part.Data)
	}
	return []byte(part.Data), nil
}
