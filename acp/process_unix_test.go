//go:build unix

package acp

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func notify(c chan os.Signal) { signal.Notify(c, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT) }

// spawn starts a process that outlives its caller.
func spawn(args []string, stdout io.Writer) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

// alive reports whether there is such a process, zombies apart.
func alive(pid int) bool {
	if birthOf(pid) != "" {
		return true
	}
	_, err := os.Stat("/proc/self/stat")
	return err != nil && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
