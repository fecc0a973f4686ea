package daemon_test

import (
	"bufio"
	"os"
	"strings"
	"syscall"
	"testing"

	"sidetask/rpc"
)

// A daemon whose supervisor closes the pipe that it logs to goes on (SIGPIPE), and
// no command inherits that it ignores the signal.
func TestOutputPipeCloses(t *testing.T) {
	w := newWorld(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.command("daemon")
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	_ = write.Close()
	said := bufio.NewScanner(read)
	for said.Scan() && !strings.Contains(said.Text(), "serving") {
	}
	if !strings.Contains(said.Text(), "serving") {
		t.Fatalf("the daemon ended with %v before it served", <-ended)
	}
	_ = read.Close()
	c := w.dial()
	for range 3 { // each reload is told of, into the closed pipe
		w.configure("[log]\nlevel = \"loud\"\n")
		var reloaded rpc.ConfigReloadResult
		if err := c.Call(w.ctx, rpc.MethodConfigReload, struct{}{}, &reloaded); err != nil {
			t.Logf("reload: %v", err)
		}
	}
	task := w.wait(c, w.start(c, "yes | head -n 1; echo ${PIPESTATUS[0]}").ID)
	if text := w.tail(c, task.ID); text != "y\n141\n" {
		t.Errorf("a command in a pipe printed %q", text)
	}
	select {
	case err := <-ended:
		t.Errorf("the daemon ended: %v", err)
	default:
	}
	if pid := w.pid(); pid != cmd.Process.Pid {
		t.Errorf("daemon %d serves, want %d", pid, cmd.Process.Pid)
	}
	_ = syscall.Kill(cmd.Process.Pid, syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Errorf("the daemon ended with %v when it was asked to stop", err)
	}
}
