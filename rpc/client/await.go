package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// retryTime is how often a socket is tried again where no event can tell
// (inotify exhausted, a network file system). It is the safety net, not the way.
const retryTime = 2 * time.Second

// await connects as soon as somebody listens. It is told by the folder of the
// socket (or, until that exists, by the nearest one above) and asks nobody.
func await(ctx context.Context, socket string) (net.Conn, error) {
	var events <-chan fsnotify.Event
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		events = watcher.Events
	}
	retry := time.NewTicker(retryTime)
	defer retry.Stop()
	for {
		if watcher != nil {
			watchNearest(watcher, filepath.Dir(socket))
		}
		// Look after the watch is set: what happened before is seen here, what happens later is told.
		conn, err := connect(ctx, socket)
		if err == nil || !errors.Is(err, ErrNoDaemon) {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-events:
		case <-retry.C:
		}
	}
}

// watchNearest watches dir, or the nearest folder above that exists.
func watchNearest(watcher *fsnotify.Watcher, dir string) {
	for {
		err := watcher.Add(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !os.IsNotExist(err) || dir == filepath.Dir(dir) {
			return
		}
		dir = filepath.Dir(dir)
	}
}
