package main

import (
	"errors"
	"os"
	"syscall"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// beside starts a program that is not to end with the task: all that the command
// starts comes to this keeper when its parent ends, but this one is the keeper's
// sibling. It has nothing of the asker's but the connection, and who holds that
// sees by its end that the program broke off.
func beside(c *conn, r wire.Request) {
	if err := startBeside(c.fd, r); err != nil {
		c.reply(wire.Answer{Error: "start " + r.Path + ": " + err.Error()})
		return
	}
	c.close()
}

func startBeside(fd int, r wire.Request) error {
	if len(r.Argv) == 0 {
		return errors.New("it has no name (argv)")
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(null)
	_, err = syscall.ForkExec(r.Path, r.Argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   r.Env,
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(fd)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_PARENT},
	})
	return err
}
