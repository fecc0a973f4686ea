package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
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

// headless, where set, makes this program one whose first thread has ended.
const headless = "SIDETASK_TEST_HEADLESS"

func init() {
	if os.Getenv(headless) == "" {
		return
	}
	go func() {
		for {
			if _, fields := statFields(os.Getpid()); len(fields) > 0 && fields[0] == "Z" {
				fmt.Println("headless")
				select {}
			}
		}
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of this thread, the first, only
}

// TestEndsWhoseFirstThreadEnded: a process of which only the first thread has ended
// looks like a zombie, and is one of the tree all the same.
func TestEndsWhoseFirstThreadEnded(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), headless+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("it said %q: %v", line, err)
	}
	if _, live := stat(cmd.Process.Pid); !live {
		t.Error("it is not told of as live")
	}
	if n := signalBelow(cmd.Process.Pid, os.Getpid(), unix.SIGKILL, 0); n != 1 {
		t.Errorf("%d processes were signalled, want 1", n)
		_ = cmd.Process.Kill()
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
}
