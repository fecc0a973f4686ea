package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// folders watches every folder on the way to the file: the folders of the
// path, of each link in its chain and of the file that it ends at, and those
// above, so that any of them may be swapped. Files are not watched: a
// rename over one leaves a watch on what is no longer there.
type folders struct {
	path    string
	watcher *fsnotify.Watcher
	route   route                  // as it was when last walked
	watched map[string]fs.FileInfo // which folder each watch is on
}

// maxRounds bounds how often a way that changes while it is walked is walked
// again at once.
const maxRounds = 10

// follow walks the way again and moves the watches to where it leads now.
// moved says that there are new ones: the file may have changed before they
// were there. The error is that of a kernel that gives no more watches.
func (w *folders) follow() (moved bool, err error) {
	for range maxRounds {
		r := resolve(w.path)
		for path, info := range w.watched {
			if f := r.folders[path]; f == nil || !os.SameFile(f.info, info) {
				w.forget(path)
			}
		}
		for path, f := range r.folders {
			if _, ok := w.watched[path]; ok {
				continue
			}
			switch err := w.watcher.Add(path); {
			case err == nil:
				w.watched[path] = f.info
				moved = true
			case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
				// Gone meanwhile: the next round sees it.
			case errors.Is(err, fs.ErrPermission) && !f.near:
				// A folder such as /home that may be passed through but not
				// read. Only its owner swaps what is in it.
			default:
				return moved, fmt.Errorf("no inotify watch on %s: %w", path, err)
			}
		}
		w.route = r
		if resolve(w.path).same(r) {
			return moved, nil
		}
	}
	return true, nil
}

// forget takes a watch away; the kernel may have done so already.
func (w *folders) forget(path string) {
	_ = w.watcher.Remove(path)
	delete(w.watched, path)
}

// concerns reports whether an event is of a name on the way. What happens to
// others in the same folders is nobody's business here.
func (w *folders) concerns(e fsnotify.Event) bool {
	name := filepath.Clean(e.Name)
	if _, ok := w.watched[name]; ok && e.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) {
		// Even if a folder of the same inode is there again, the watch is gone.
		w.forget(name)
		return true
	}
	f := w.route.folders[filepath.Dir(name)]
	return f != nil && f.names[filepath.Base(name)]
}
