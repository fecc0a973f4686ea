package spool

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// events are what can make a spool grow or a file come, or take the folder away.
const events = syscall.IN_MODIFY | syscall.IN_CREATE | syscall.IN_MOVED_TO | away | syscall.IN_ONLYDIR

// away are the events of a folder that is not what its path names any more.
const away = syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF

// notifier is one inotify instance.
type notifier struct {
	file *os.File // in the runtime's poller: no thread waits in it

	mu   sync.Mutex
	dirs map[int32]string // by watch descriptor; guarded by mu
	wds  map[string]int32 // the other way round; guarded by mu
}

func newNotifier() (*notifier, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("inotify: %w", err)
	}
	return &notifier{
		file: os.NewFile(uintptr(fd), "inotify"),
		dirs: make(map[int32]string),
		wds:  make(map[string]int32),
	}, nil
}

func (n *notifier) add(dir string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var wd int
	err := n.control(func(fd int) (err error) {
		wd, err = syscall.InotifyAddWatch(fd, dir, events)
		return err
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", dir, err)
	}
	n.dirs[int32(wd)], n.wds[dir] = dir, int32(wd)
	return nil
}

func (n *notifier) remove(dir string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wd, ok := n.wds[dir]
	if !ok {
		return
	}
	delete(n.wds, dir)
	delete(n.dirs, wd)
	// An error means that the folder is gone already, and the watch with it.
	_ = n.control(func(fd int) error {
		_, err := syscall.InotifyRmWatch(fd, uint32(wd))
		return err
	})
}

// control runs a system call on the descriptor while it cannot be closed.
func (n *notifier) control(call func(fd int) error) error {
	raw, err := n.file.SyscallConn()
	if err != nil {
		return err
	}
	var callErr error
	if err := raw.Control(func(fd uintptr) { callErr = call(int(fd)) }); err != nil {
		return err
	}
	return callErr
}

// run tells of changes, of folders that are gone, and that something of either was
// lost, until the notifier is closed.
func (n *notifier) run(changed, gone func(dir string), lost func()) {
	buf := make([]byte, 16<<10)
	for {
		got, err := n.file.Read(buf)
		if err != nil {
			return
		}
		told := ""
		for event := buf[:got]; len(event) >= syscall.SizeofInotifyEvent; {
			wd := int32(binary.NativeEndian.Uint32(event))
			mask := binary.NativeEndian.Uint32(event[4:])
			length := binary.NativeEndian.Uint32(event[12:])
			event = event[syscall.SizeofInotifyEvent+int(length):]
			dir := n.dir(wd)
			switch {
			case mask&syscall.IN_Q_OVERFLOW != 0:
				lost()
				told = ""
				continue
			case dir == "":
				continue // a watch that was removed
			case mask&away != 0:
				gone(dir)
				told = ""
				continue
			case dir == told:
				continue // a run of events of one folder
			}
			changed(dir)
			told = dir
		}
	}
}

func (n *notifier) dir(wd int32) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dirs[wd]
}

func (n *notifier) close() error { return n.file.Close() }
