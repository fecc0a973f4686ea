package config

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// newWatcher asks the kernel for an inotify instance. They are few: 128 for
// all programs of a user is common.
func newWatcher() (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) { // without the words around it
			err = errno
		}
		return nil, fmt.Errorf("no inotify instance: %w", err)
	}
	return w, nil
}
