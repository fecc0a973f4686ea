package main

import (
	"fmt"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// connectTerminal opens a new terminal: the command gets it as all three of its
// descriptors and as its controlling one, the keeper has the master.
func (k *keeper) connectTerminal(e *ends) error {
	w, err := k.newSpool(wire.OutDir)
	if err != nil {
		return err
	}
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open a terminal: %w", err)
	}
	k.streams = append(k.streams, &stream{fd: master, spool: w, terminal: true})
	k.input = newInput(master, true)
	if err := unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("unlock the terminal: %w", err)
	}
	if err := resize(master, k.job.Cols, k.job.Rows); err != nil {
		return err
	}
	number, err := unix.IoctlGetUint32(master, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("find the terminal: %w", err)
	}
	if e.in, err = unix.Open(fmt.Sprintf("/dev/pts/%d", number), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open the terminal: %w", err)
	}
	if e.out, err = unix.FcntlInt(uintptr(e.in), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return err
	}
	e.err, err = unix.FcntlInt(uintptr(e.in), unix.F_DUPFD_CLOEXEC, 0)
	return err
}

func resize(master, cols, rows int) error {
	if err := wire.CheckSize(cols, rows); err != nil { // the kernel has 16 bits for each
		return fmt.Errorf("resize the terminal: %w", err)
	}
	err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	if err != nil {
		return fmt.Errorf("resize the terminal: %w", err)
	}
	return nil
}
