package config

import "github.com/fsnotify/fsnotify"

// newWatcher asks the kernel for an inotify instance.
func newWatcher() (*fsnotify.Watcher, error) { return fsnotify.NewWatcher() }
