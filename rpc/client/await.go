package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Pauses between looks at a socket. The folder tells when the file comes, which
// is a moment before somebody listens on it; so a look that finds it deaf is
// repeated a few times, each after twice the pause, and then the folder is
// trusted again. Where no folder can be watched (inotify exhausted, a network
// file system) the last pause goes on.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 2 * time.Second
)

// await connects as soon as somebody listens. It is told by the folder of the
// socket (or, until that exists, by the nearest one above).
func await(ctx context.Context, socket string) (net.Conn, error) {
	var told <-chan fsnotify.Event
	var trouble <-chan error
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		told, trouble = watcher.Events, watcher.Errors
	}
	pause := firstLook
	for {
		watched := watcher != nil && watchNearest(watcher, filepath.Dir(socket)) == nil
		// Look after the watch is set: what happened before is seen here, what happens later is told.
		conn, err := connect(ctx, socket)
		if err == nil || !errors.Is(err, ErrNoDaemon) {
			return conn, err
		}
		var again <-chan time.Time
		if !watched || pause < lastLook {
			again = time.After(pause)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-told:
			pause = firstLook
		case <-trouble: // events were lost: look
			pause = firstLook
		case <-again:
			pause = min(2*pause, lastLook)
		}
	}
}

// watchNearest watches dir, or the nearest folder above that exists.
func watchNearest(watcher *fsnotify.Watcher, dir string) error {
	for {
		err := watcher.Add(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return err
		}
		dir = filepath.Dir(dir)
	}
}
