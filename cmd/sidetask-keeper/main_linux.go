package main

import (
	"encoding/binary"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// jobFD is the daemon's socket.
const jobFD = 3

func main() {
	signals := handleSignals()
	// One thread does all the work: poll, copy, signal. It is the one that the
	// command is tied to (PDEATHSIG).
	runtime.LockOSThread()
	isolate()
	rehearse()
	me := introduce()
	j, lock, err := receive(jobFD)
	if err != nil {
		os.Exit(1)
	}
	if j == nil {
		return // a spare that is not needed any more
	}
	// Should this program crash, the locked file says why.
	_ = unix.Dup2(lock, 2)
	k := &keeper{job: j, lock: lock, signals: signals, me: me}
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

// handleSignals makes sure that no signal is ignored in the command: those that
// a process handles get their default action at exec, those that were ignored in
// the keeper's starter (nohup) would stay so. The keeper itself survives a hang-up
// and a file size limit (the write fails then); it wakes for an ended child, and SIGTERM stops its command. Not simply all
// signals: each costs a start many microseconds.
func handleSignals() *signals {
	s := &signals{child: make(chan os.Signal, 1), stop: make(chan os.Signal, 1)}
	signal.Notify(s.child, syscall.SIGCHLD)
	signal.Notify(s.stop, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), append(ignored(), syscall.SIGHUP, syscall.SIGXFSZ)...) // nobody listens
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		fd = -1
	}
	s.fd = fd
	s.asked = make(chan struct{}, 1)
	go s.forward()
	return s
}

// ignored lists the signals that this process was started with as ignored.
func ignored() []os.Signal {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), "\nSigIgn:\t")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(line, 16, 64)
	if err != nil {
		return nil
	}
	var list []os.Signal
	for n := range 64 {
		if mask&(1<<n) != 0 {
			list = append(list, syscall.Signal(n+1))
		}
	}
	return list
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
