package main

import (
	"encoding/binary"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// jobFD is the daemon's socket.
const jobFD = 3

func main() {
	// One thread does all the work: poll, copy, signal. What little garbage it
	// makes is collected only under pressure, so that an idle keeper never wakes.
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(8 << 20)
	signals := defaultSignals()
	isolate()
	j, lock, err := receive(jobFD)
	if err != nil {
		os.Exit(1)
	}
	if j == nil {
		return // a spare that is not needed any more
	}
	k := &keeper{job: j, lock: lock, signals: signals}
	if !k.start(jobFD) {
		return
	}
	_ = unix.Close(jobFD)
	k.loop()
}

// isolate cuts what a keeper must not have from its starter: session, working
// directory, inherited descriptors, blocked signals. What it could not get rid
// of is closed in the command.
func isolate() {
	_, _ = unix.Setsid() // fails where it leads a session already
	_ = os.Chdir("/")
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	_ = unix.CloseRange(jobFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	unix.CloseOnExec(jobFD)
	var none unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil)
}

// defaultSignals makes every signal one that this process handles: exec sets
// those to their default in the command, also those that were ignored in the
// keeper's starter (nohup). The keeper itself survives all but SIGKILL; it wakes
// for an ended child, and SIGTERM or SIGINT stop its command.
func defaultSignals() *signals {
	s := &signals{child: make(chan os.Signal, 1), stop: make(chan os.Signal, 1)}
	signal.Notify(make(chan os.Signal, 1)) // all; nobody listens
	signal.Notify(s.child, syscall.SIGCHLD)
	signal.Notify(s.stop, syscall.SIGTERM, syscall.SIGINT)
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		fd = -1
	}
	s.fd = fd
	s.asked = make(chan struct{}, 1)
	go s.forward()
	return s
}

// signals turns signals into something that poll waits for.
type signals struct {
	child, stop chan os.Signal
	asked       chan struct{} // a stop was asked for by signal
	fd          int           // eventfd, readable after a signal
}

// forward runs as long as the keeper.
func (s *signals) forward() {
	for {
		select {
		case <-s.child:
		case <-s.stop:
			select {
			case s.asked <- struct{}{}:
			default:
			}
		}
		_, _ = unix.Write(s.fd, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

// clear makes the descriptor unreadable again and says whether a stop was asked for.
func (s *signals) clear() (stop bool) {
	var buf [8]byte
	_, _ = unix.Read(s.fd, buf[:])
	select {
	case <-s.asked:
		return true
	default:
		return false
	}
}
