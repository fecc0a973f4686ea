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
	if err := closeOnExec(ReportFD); err != nil {
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
	cmd.ExtraFiles = []*os.File{os.NewFile(ReportFD, "report")}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// ReportPipe is the pipe that [Detach] hands to the daemon; nil where fd 3 is
// none. It is not passed on to the daemon's own children.
func ReportPipe() *os.File {
	if err := closeOnExec(ReportFD); err != nil {
		return nil
	}
	pipe := os.NewFile(ReportFD, "report")
	if _, err := pipe.Stat(); err != nil {
		return nil
	}
	return pipe
}
