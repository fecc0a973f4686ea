package main

import (
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSignalsOnlyTheTree: a pid is signalled only as the child of the parent that
// the walk came from. One that is another process's by now is left alone, and so
// are the first process and the group that a pid below it would name.
func TestSignalsOnlyTheTree(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	pid, self := cmd.Process.Pid, os.Getpid()
	for _, c := range []struct{ pid, parent int }{
		{pid, os.Getppid()}, // used again: its parent is another
		{pid, pid},
		{self, self},
		{1, 0},
		{0, self},
		{-1, self},
		{-pid, self},
	} {
		if n := signalBelow(c.pid, c.parent, unix.SIGKILL, 0); n != 0 {
			t.Errorf("pid %d below %d: %d processes were signalled, want none", c.pid, c.parent, n)
		}
	}
	if _, fields := statFields(pid); len(fields) == 0 || fields[0] == "Z" || fields[0] == "T" {
		t.Errorf("a process that is not of the tree is in state %v", fields)
	}
	if n := signalBelow(pid, self, unix.SIGKILL, 0); n != 1 {
		t.Errorf("%d processes of the tree were signalled, want 1", n)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not killed")
	}
}
