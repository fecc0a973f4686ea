package client

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Detach is the helper between a starter and its daemon, a process of its own
// that [Autostart] runs: it starts this program again with args and returns, and
// must then end. So the daemon is nobody's child, leads no session (it can get
// no terminal), and has of its starter no descriptor but the report's.
func Detach(args []string) error {
	if err := closeOnExec(reportFD); err != nil {
		return fmt.Errorf("close what was inherited: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	// An ignored signal stays ignored over exec (nohup); a caught one does not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP)
	cmd := exec.Command(exe, args...)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), reportVariable+"=1")
	cmd.ExtraFiles = []*os.File{os.NewFile(reportFD, "report")}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// ReportPipe is the pipe that [Detach] hands to the daemon; nil for a daemon
// that nobody waits for. It works once, and leaves nothing of it to this
// process's children or to the program that replaces it in a restart.
func ReportPipe() *os.File {
	if os.Getenv(reportVariable) == "" {
		return nil
	}
	if err := os.Unsetenv(reportVariable); err != nil {
		return nil
	}
	if err := closeOnExec(reportFD); err != nil {
		return nil
	}
	return os.NewFile(reportFD, "report")
}
