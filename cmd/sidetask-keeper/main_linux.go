package main

import (
	"encoding/binary"
	"math"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// jobFD is the daemon's socket.
const jobFD = 3

// The process's first thread does all the work: poll, copy, fork, signal. The
// command is tied to it (PDEATHSIG), and all children are its own, orphans too.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) == 2 && os.Args[1] == wire.FormatFlag {
		_, _ = os.Stdout.WriteString(strconv.Itoa(wire.Format) + "\n") // who asked looks
		return
	}
	signals := handleSignals()
	isolate()
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
// and a file size limit (the write fails then); it wakes for an ended child, SIGTERM
// stops its command, and at SIGHUP it sees to it that its socket is there. Not simply
// all signals: each costs a start many microseconds.
func handleSignals() *signals {
	s := &signals{child: make(chan os.Signal, 1), stop: make(chan os.Signal, 1), hangup: make(chan os.Signal, 1)}
	signal.Notify(s.child, syscall.SIGCHLD)
	signal.Notify(s.stop, syscall.SIGTERM)
	signal.Notify(s.hangup, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), append(ignored(), syscall.SIGXFSZ)...) // nobody listens
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		fd = -1
	}
	s.fd = fd
	s.asked, s.swept = make(chan struct{}, 1), make(chan struct{}, 1)
	go s.forward()
	return s
}

// ignored lists the signals that are ignored, as exec leaves them to a process
// whose starter had them so. Package os/signal knows that of two signals only.
func ignored() []os.Signal {
	var list []os.Signal
	for n := 1; n <= 64; n++ {
		// Of the kernel's struct sigaction only the first word, the handler, counts.
		var action [4]uintptr
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno == 0 && action[0] == sigIgn {
			list = append(list, syscall.Signal(n))
		}
	}
	return list
}

// sigIgn is SIG_IGN of signal.h.
const sigIgn = 1

// signals turns signals into something that poll waits for.
type signals struct {
	child, stop, hangup chan os.Signal
	asked               chan struct{} // a stop was asked for by signal
	swept               chan struct{} // the socket may be gone
	fd                  int           // eventfd, readable after a signal
}

// forward runs as long as the keeper.
func (s *signals) forward() {
	for {
		select {
		case <-s.child:
		case <-s.stop:
			note(s.asked)
		case <-s.hangup:
			note(s.swept)
		}
		_, _ = unix.Write(s.fd, binary.NativeEndian.AppendUint64(nil, 1))
	}
}

// clear makes the descriptor unreadable again and says what was asked for.
func (s *signals) clear() (stop, swept bool) {
	var buf [8]byte
	_, _ = unix.Read(s.fd, buf[:])
	return noted(s.asked), noted(s.swept)
}

func note(wish chan struct{}) {
	select {
	case wish <- struct{}{}:
	default:
	}
}

func noted(wish chan struct{}) bool {
	select {
	case <-wish:
		return true
	default:
		return false
	}
}
