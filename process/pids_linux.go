package process

import (
	"os"
	"sync"

	"sidetask/registry"

	"golang.org/x/sys/unix"
)

// pids tells of the ends of keepers: all their pidfds in one epoll set, that set
// in the runtime's poller. No thread and no goroutine waits per task.
type pids struct {
	set   *os.File
	epoll int
	ended func(registry.Row)

	mu     sync.Mutex
	rows   map[int32]registry.Row // by descriptor; guarded by mu
	closed bool                   // the set's number may be another file's now; guarded by mu
}

func newPids(ended func(registry.Row)) (*pids, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that the runtime polls it
		closeFD(fd)
		return nil, err
	}
	return &pids{
		set:   os.NewFile(uintptr(fd), "keepers"),
		epoll: fd,
		ended: ended,
		rows:  make(map[int32]registry.Row),
	}, nil
}

func (p *pids) add(pidfd int, row registry.Row) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(pidfd)}
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, pidfd, &event); err != nil {
		return err
	}
	p.rows[int32(pidfd)] = row
	return nil
}

func (p *pids) remove(pidfd int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.rows, int32(pidfd))
	if p.closed {
		return
	}
	_ = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_DEL, pidfd, nil)
}

// run tells of ends until close.
func (p *pids) run() {
	raw, err := p.set.SyscallConn()
	if err != nil {
		return
	}
	events := make([]unix.EpollEvent, 64)
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = unix.EpollWait(int(fd), events, 0)
			return n > 0
		})
		if err != nil {
			return
		}
		for _, event := range events[:n] {
			p.mu.Lock()
			row, ok := p.rows[event.Fd]
			p.mu.Unlock()
			if ok {
				p.ended(row)
			}
		}
	}
}

func (p *pids) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	return p.set.Close()
}
