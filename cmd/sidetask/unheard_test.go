package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// endsWith is a scripted daemon that answers calls by method, and is gone, its socket
// first, as after a stop, as soon as it has answered the last.
func endsWith(t *testing.T, socket, last string, answers map[string]any) {
	t.Helper()
	scriptedDaemon(t, socket, func(_ *scriptedConn, method string) (any, bool) {
		if method == rpc.MethodInitialize {
			return rpc.Initialized{ProtocolVersion: rpc.Version}, false
		}
		if method == last {
			_ = os.Remove(socket)
		}
		return answers[method], method == last
	})
}

// TestEndThatNobodyTold: a daemon that ended took note of the end of the command, whose
// record is gone thereby, and did not tell it. Who waits for it starts the next one.
func TestEndThatNobodyTold(t *testing.T) {
	command := exec.Command("true")
	if err := command.Run(); err != nil {
		t.Fatal(err)
	}
	home := atHome(t, "")
	socket := filepath.Join(home, "s")
	endsWith(t, socket, rpc.MethodTaskGet, map[string]any{rpc.MethodTaskGet: rpc.TaskResult{Task: rpc.Task{ID: "bash-1"}}})
	l := &link{
		p: &program{stdout: io.Discard, stderr: io.Discard}, exits: t.TempDir(), pid: command.Process.Pid,
		keeper: client.Keep(client.KeeperOptions{Options: client.Options{
			Socket: socket, Autostart: &client.Autostart{Executable: filepath.Join(home, "none")},
		}}),
	}
	defer l.close()
	if _, err := l.get(t.Context(), "bash-1"); err != nil {
		t.Fatal(err)
	}
	_, err := l.wait(t.Context(), "bash-1", time.Time{})
	if failed := (*client.StartError)(nil); !errors.As(err, &failed) {
		t.Errorf("wait = %v, want to hear that the next daemon could not be started", err)
	}
}

// A command that lives is no reason to start a daemon that somebody stopped.
func TestLiveCommandIsNoEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, pid := range []int{0, os.Getpid()} {
		if err := unheardEnd(ctx, t.TempDir(), pid); !errors.Is(err, context.Canceled) {
			t.Errorf("unheardEnd of %d = %v, want to wait", pid, err)
		}
	}
}

// TestEndHeardBesideTheOutput: where all output was shown and the end was told, it does
// not matter that the daemon was stopped then.
func TestEndHeardBesideTheOutput(t *testing.T) {
	socket := filepath.Join(atHome(t, ""), "s")
	code := 7
	task := rpc.Task{ID: "bash-1", Status: rpc.StatusCompleted, Operator: &rpc.Operator{ExitCode: &code}}
	endsWith(t, socket, rpc.MethodTaskTail, map[string]any{
		rpc.MethodTaskWait: rpc.TaskResult{Task: task},
		rpc.MethodTaskTail: rpc.TaskTailResult{EOF: true},
	})
	p := &program{stdout: io.Discard, stderr: io.Discard, noAutostart: true}
	l, err := p.link(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	l.ended.Store(&task)
	if err := p.followRun(t.Context(), l, task.ID, runFlags{}); !errors.Is(err, exit(code)) {
		t.Errorf("followRun = %v, want exit status %d", err, code)
	}
}

// TestStoppedWhileThereIsNoDaemon: a command that a signal ends while it waits for the
// next daemon says nothing of the one that is missing.
func TestStoppedWhileThereIsNoDaemon(t *testing.T) {
	socket := filepath.Join(atHome(t, ""), "s")
	endsWith(t, socket, rpc.MethodTaskGet, map[string]any{rpc.MethodTaskGet: json.RawMessage(`{}`)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := &program{stdout: io.Discard, noAutostart: true, stderr: writerFunc(func([]byte) { cancel() })} // it says that it waits
	l, err := p.link(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	for range 2 {
		_, err = l.get(ctx, "bash-1")
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("get = %v, want context.Canceled", err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}
