package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"sidetask/process/wire"
	"sidetask/registry"
)

// Groups gives commands control groups of their own, where the system has them
// for us: who makes them, and how, is not this room's to know.
type Groups interface {
	// Open makes the group for a command before it is forked and gives its
	// folder, "" for none. done is called when the command was born into it, or
	// will not be. An error refuses the start, in its words: limits that are
	// asked for and cannot be had.
	Open(ctx context.Context, name string) (dir string, done func(), err error)
}

// openGroup makes the group of a task; "" without groups.
func (p *Producer) openGroup(ctx context.Context, row registry.Row) (dir string, done func(), err error) {
	if p.groups == nil {
		return "", func() {}, nil
	}
	return p.groups.Open(ctx, name(row))
}

// removeGroup removes a group that nothing was born into.
func removeGroup(dir string) {
	if dir != "" {
		_ = syscall.Rmdir(dir) // else it goes when the next daemon looks
	}
}

// groupCPU is the processor time of all that ever lived in a group, in
// milliseconds.
func groupCPU(dir string) (int64, bool) {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "usage_usec "); ok {
			n, err := strconv.ParseInt(number, 10, 64)
			return n / 1000, err == nil
		}
	}
	return 0, false
}

// exceeded says whether the command ended because of its memory limit: something
// of it was killed for that, and it did not end well.
func exceeded(e wire.Exit) bool {
	return e.OutOfMemory && e.Cause == "" && (e.Code != 0 || e.Signal != 0)
}
