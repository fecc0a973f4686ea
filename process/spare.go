package process

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"sidetask/process/wire"
)

const (
	// spareIdle is how long a spare keeper is kept after the last start.
	spareIdle = time.Minute
	// handTimeout bounds the talk with a keeper. One that took the job and is not
	// heard in time (a command can stop it at once) is left to its task's end.
	handTimeout = 5 * time.Second
)

// spare is a keeper that waits for its job.
type spare struct {
	conn  *net.UnixConn
	pidfd int
	pid   int
}

// spares keeps one keeper warm while commands are being started, so that a
// start costs a message and one fork+exec, not the start of a Go process
// (ARCHITECTURE, decision 11).
type spares struct {
	binary string

	mu      sync.Mutex
	ready   *spare      // guarded by mu
	pending bool        // one is being made; guarded by mu
	idle    *time.Timer // ends the spare; guarded by mu
	closed  bool        // guarded by mu
	making  sync.WaitGroup
}

func newSpares(binary string) *spares { return &spares{binary: binary} }

// take gives the warm keeper, or a new one, and has the next one warmed.
func (s *spares) take() (*spare, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	k := s.ready
	s.ready = nil
	s.mu.Unlock()
	if k != nil && ended(k.pidfd) {
		k.end() // somebody killed it
		k = nil
	}
	if k != nil {
		return k, nil
	}
	return startKeeper(s.binary)
}

// warm makes the next spare, beside the start that calls it. One that cannot be
// made is no error yet: the next start tries itself, and says why.
func (s *spares) warm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.pending {
		return
	}
	if s.idle == nil {
		s.idle = time.AfterFunc(spareIdle, s.retire)
	} else {
		s.idle.Reset(spareIdle)
	}
	if s.ready != nil {
		return
	}
	s.pending = true
	s.making.Go(func() {
		k, err := startKeeper(s.binary)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending = false
		switch {
		case err != nil:
		case s.closed:
			k.end()
		default:
			s.ready = k
		}
	})
}

// retire ends the spare: no commands were started for a while.
func (s *spares) retire() {
	s.mu.Lock()
	k := s.ready
	s.ready = nil
	s.mu.Unlock()
	if k != nil {
		k.end()
	}
}

func (s *spares) close() {
	s.mu.Lock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	s.mu.Unlock()
	s.making.Wait()
	s.retire()
}

// end lets the keeper go: it ends when our end of its socket closes, and is
// buried here.
func (k *spare) end() {
	_ = k.conn.Close()
	killAndReap(k.pidfd)
	closeFD(k.pidfd)
}

// send gives the job and the locked file.
func (k *spare) send(j *wire.Job, lock *os.File) error {
	framed := wire.Frame(j)
	if len(framed) > wire.MaxJob {
		return fmt.Errorf("the command and its environment have %d bytes, at most %d are possible", len(framed), wire.MaxJob)
	}
	if err := k.conn.SetDeadline(time.Now().Add(handTimeout)); err != nil {
		return err
	}
	// The lock goes with the first byte; what the socket does not take at once follows.
	n, _, err := k.conn.WriteMsgUnix(framed, syscall.UnixRights(int(lock.Fd())), nil)
	if err == nil && n < len(framed) {
		_, err = k.conn.Write(framed[n:])
	}
	return err
}

// report waits until the keeper tells of the command's start.
func (k *spare) report() (wire.Report, error) {
	var r wire.Report
	length := make([]byte, 4)
	if _, err := io.ReadFull(k.conn, length); err != nil {
		return r, fmt.Errorf("it said nothing: %w", err)
	}
	text := make([]byte, min(binary.BigEndian.Uint32(length), wire.MaxAnswer))
	if _, err := io.ReadFull(k.conn, text); err != nil {
		return r, fmt.Errorf("it broke off: %w", err)
	}
	return r, wire.Decode(text, &r)
}
