package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"sidetask/paths"
	"sidetask/systemd"
)

// socketEvery is how often the socket's path is looked at where its folder
// cannot be watched, or is not told of.
const socketEvery = time.Minute

// settleTime is how long the path is left to whoever took our socket away. A
// service manager that starts its socket unlinks ours, binds, and then listens: a
// new socket of ours in between makes that fail, or takes the place of one that is
// about to be listened on.
const settleTime = time.Second

// socket is the daemon's listening socket, found under its path. A cleaner of
// /tmp, or a logout that empties /run/user, takes the file away under a daemon
// that lives: then nobody could reach it any more (FIELD, "systemd-tmpfiles").
type socket struct {
	paths   paths.Paths
	path    string // of the socket
	managed bool   // the service manager's: nothing of it is ours to mend

	mu      sync.Mutex // guards all below
	current *net.UnixListener
	file    os.FileInfo // what stood at path when current was made
}

// listen takes the socket that the service manager holds, or that this
// program's former self left open, or makes one.
func listen(p paths.Paths, service *systemd.Service) (*socket, error) {
	s := &socket{paths: p, path: p.Socket, managed: service.Supervised()}
	for _, inherited := range service.Listeners(systemd.ListenerName) {
		if unix, ok := inherited.(*net.UnixListener); ok {
			unix.SetUnlinkOnClose(false)
			s.keep(unix)
			return s, nil
		}
	}
	listener, err := makeSocket(p)
	if err != nil {
		return nil, err
	}
	s.keep(listener)
	return s, nil
}

func (s *socket) keep(listener *net.UnixListener) {
	file, _ := os.Lstat(s.path) // gone again: the next look mends it
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.file = listener, file
}

// listener is the one that answers under the path now.
func (s *socket) listener() *net.UnixListener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// lost says whether what stands at the path is not ours any more.
func (s *socket) lost() bool {
	file, err := os.Lstat(s.path)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err != nil || s.file == nil || !os.SameFile(file, s.file)
}

// remove takes the socket away at the end of a daemon that ends in order: one
// that is there and refuses says that its daemon crashed, and whoever was
// connected starts another. What is not ours stays.
func (s *socket) remove() error {
	if s.managed || s.lost() {
		return nil
	}
	return os.Remove(s.path)
}

// guard makes the socket anew when its file is gone, and has it served. Where
// another listens in its place, such as the service manager, nobody can reach
// this daemon any more: it ends and leaves its tasks to the other. guard ends with
// ctx.
func (d *daemon) guard(ctx context.Context, s *socket, serve func(*net.UnixListener)) {
	if s.managed {
		return
	}
	var told <-chan fsnotify.Event
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = watcher.Close() }()
		told = watcher.Events
	}
	look := time.NewTicker(socketEvery)
	defer look.Stop()
	complaint := ""
	for {
		if watcher != nil {
			_ = watcher.Add(filepath.Dir(s.path)) // again: the folder may be a new one
		}
		if s.lost() {
			select {
			case <-time.After(settleTime):
			case <-ctx.Done():
				return
			}
			listener, err := makeSocket(s.paths)
			switch {
			case err == nil:
				d.log.Warn("the socket was gone and is made anew", "socket", s.path)
				s.keep(listener)
				serve(listener)
				complaint = ""
				continue // look once more, with the folder watched
			case errors.Is(err, errServed):
				d.ask(end{err: fmt.Errorf("another listens on %s now: this daemon ends, and the next one has its tasks", s.path)})
				return
			case err.Error() != complaint:
				complaint = err.Error()
				d.log.Error("the socket is gone and cannot be made anew; trying again", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-told:
		case <-look.C:
		}
	}
}
