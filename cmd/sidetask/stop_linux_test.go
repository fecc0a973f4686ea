package main

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sidetask/rpc"
)

// TestEndDaemonWaitsForItsProcess: a daemon that has closed its connections still
// holds the lock on the state; who starts the next one waits for its process. So it
// is, too, where somebody else is stopping it.
func TestEndDaemonWaitsForItsProcess(t *testing.T) {
	for name, answer := range map[string]any{
		"stopped":            rpc.DaemonStopped{},
		"stopped by another": rpc.Errorf(rpc.CodeShuttingDown, "the daemon is shutting down"),
	} {
		t.Run(name, func(t *testing.T) {
			process := exec.Command("/bin/cat")
			alive, err := process.StdinPipe()
			if err == nil {
				err = process.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			pid := process.Process.Pid
			defer func() { _ = process.Wait() }()
			socket := filepath.Join(atHome(t, ""), "s")
			closed := scriptedDaemon(t, socket, func(_ *scriptedConn, method string) (any, bool) {
				switch method {
				case rpc.MethodInitialize:
					return rpc.Initialized{ProtocolVersion: rpc.Version}, false
				case rpc.MethodDaemonStatus:
					return rpc.DaemonStatus{PID: pid}, false
				}
				return answer, true
			})
			go func() { // ends with the test at the latest
				<-closed
				_ = alive.Close()
			}()
			p := &program{stdout: io.Discard, stderr: io.Discard}
			was, _, err := p.endDaemon(context.Background(), rpc.DaemonStop{})
			if err != nil || was.PID != pid {
				t.Errorf("it ended the daemon %d: %v", was.PID, err)
			}
			var state unix.Siginfo
			err = unix.Waitid(unix.P_PID, pid, &state, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
			if err != nil || unix.Signal(state.Signo) != unix.SIGCHLD {
				t.Errorf("its process runs still (%v)", err)
			}
		})
	}
}
