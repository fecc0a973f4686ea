package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"sidetask/rpc"
)

// writeBytes is what one task/write carries.
const writeBytes = 64 << 10

// writeFlags are the flags of `sidetask write`.
type writeFlags struct {
	eof, noNewline bool
}

func (p *program) writeCommand() *cobra.Command {
	var f writeFlags
	cmd := &cobra.Command{
		Use:   "write ID [TEXT | -]",
		Short: "Give a task input (one started with --stdin or --pty)",
		Long: `Give a task the line TEXT as input, or with - (or without TEXT and --eof) what
comes on this command's own input. --eof ends the task's input.`,
		ValidArgsFunction: p.taskIDs(liveTask),
		Args:              takes(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.write(cmd.Context(), f, args)
		},
	}
	cmd.Flags().BoolVar(&f.eof, "eof", false, "then end the task's input")
	cmd.Flags().BoolVarP(&f.noNewline, "no-newline", "n", false, "add no newline to TEXT")
	return cmd
}

func (p *program) write(ctx context.Context, f writeFlags, args []string) error {
	c, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	id := args[0]
	switch {
	case len(args) == 2 && args[1] != "-":
		text := args[1]
		if !f.noNewline {
			text += "\n"
		}
		if err := writeTo(ctx, c.Call, id, []byte(text)); err != nil {
			return err
		}
	case len(args) == 2 || !f.eof:
		return p.feed(ctx, c.Call, id, p.stdin, f.eof)
	}
	if f.eof {
		return c.Call(ctx, rpc.MethodTaskWrite, rpc.TaskWrite{TaskRef: rpc.TaskRef{ID: id}, EOF: true}, nil)
	}
	return nil
}

// feed copies from into the task's input, and its end if eof.
func (p *program) feed(ctx context.Context, call caller, id string, from io.Reader, eof bool) error {
	buf := make([]byte, writeBytes)
	// Nothing is something, too: it tells whether the task takes input at all.
	if err := call(ctx, rpc.MethodTaskWrite, rpc.TaskWrite{TaskRef: rpc.TaskRef{ID: id}}, nil); err != nil {
		return err
	}
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if err := writeTo(ctx, call, id, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail("give TEXT instead", "read the input: %w", err)
		}
	}
	if !eof {
		return nil
	}
	return call(ctx, rpc.MethodTaskWrite, rpc.TaskWrite{TaskRef: rpc.TaskRef{ID: id}, EOF: true}, nil)
}

// writeTo gives the task all of data.
func writeTo(ctx context.Context, call caller, id string, data []byte) error {
	for len(data) > 0 {
		part := data[:min(len(data), writeBytes)]
		var result rpc.TaskWritten
		err := call(ctx, rpc.MethodTaskWrite, rpc.TaskWrite{
			TaskRef: rpc.TaskRef{ID: id}, Data: base64.StdEncoding.EncodeToString(part), Encoding: "base64",
		}, &result)
		if err != nil {
			return err
		}
		if result.Written <= 0 || result.Written > len(part) {
			return fail("try again when the task has read what it was given", "%s takes no more input now", id)
		}
		data = data[result.Written:]
	}
	return nil
}
