//go:build !linux

package config

import (
	"fmt"
	"runtime"

	"github.com/fsnotify/fsnotify"
)

// newWatcher has nothing to offer: where there is no inotify, watching a folder means to
// open every file in it, and the folders on the way to the file are many.
func newWatcher() (*fsnotify.Watcher, error) {
	return nil, fmt.Errorf("no inotify on %s", runtime.GOOS)
}
