package main

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// unheardEnd returns when there is the end of a task that no daemon has taken note
// of: its keeper's record lies in the folder of exit records until one has. It is
// for who waits while no daemon runs: then there is a reason to start one. The end of
// the command pid, unless that is 0, is one even without a record: the last daemon
// took note of it and may have gone before it told.
func unheardEnd(ctx context.Context, exits string, pid int) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer func() { _ = watcher.Close() }() // nothing more is asked of it
	if err := watcher.Add(exits); err != nil {
		return err
	}
	for {
		// Look after the watch is set: what came before is seen here.
		if records, err := os.ReadDir(exits); err != nil || len(records) > 0 {
			return err
		}
		if pid != 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return nil
		}
		select {
		case <-watcher.Events:
		case <-watcher.Errors: // events were lost: look
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
