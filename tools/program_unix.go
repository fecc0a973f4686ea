//go:build unix

package tools

import (
	"os/exec"
	"syscall"
)

// ownGroup lets a program that is out of time be ended with what it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
