package main

import (
	"encoding/binary"
	"runtime/debug"
	"time"

	"sidetask/spool"

	"golang.org/x/sys/unix"
)

const (
	// bufferBytes is one read at most. Large reads are what makes the copy cheap.
	bufferBytes = 256 << 10
	// burst is how many reads are made of one stream before the others are looked at.
	burst = 16
	// pipeBytes is what a pipe gets whose writer fills it. Not at once: the kernel
	// grants one user 64 MiB of pipes altogether.
	pipeBytes = 1 << 20
	usualPipe = 64 << 10
	// tidyBytes of output leave half a megabyte of garbage behind.
	tidyBytes = 256 << 20
	retryFull = 250 * time.Millisecond // a disk that is full is tried again
	giveUp    = 10 * time.Second       // after which an ended command's output is dropped, and counted
	// A stream of which much came within a short time is not listened to for a
	// moment: its writer then need not wake anybody for each small piece, and the
	// next read is a large one.
	muchBytes    = 256 << 10
	shortTime    = 5 * time.Millisecond
	gather       = 100 * time.Microsecond
	terminalRest = 5 * time.Millisecond // in which the kernel hands over what was written to a terminal
)

// stream is one output of the command on its way into a spool.
type stream struct {
	fd       int // -1: all that could write to it are gone
	spool    *spool.Writer
	terminal bool
	enlarged bool

	since time.Time // beginning of the short time that is counted
	much  int64     // bytes since then
	rest  time.Time // until then it is not listened to; zero: it is

	// pending was read and not taken by a full disk; until retry it is not tried
	// again, and nothing more is read: the command waits, and nothing is lost.
	pending []byte
	retry   time.Time
	discard bool  // the command has ended and the disk stays full: the rest is dropped
	dropped int64 // bytes
}

// copy takes what is there, at most limit bytes, and says how much that was.
func (k *keeper) copy(s *stream, limit int64) int64 {
	var total int64
	if !k.flush(s) {
		return 0
	}
	for range burst {
		if s.fd < 0 || total >= limit {
			break
		}
		n, err := unix.Read(s.fd, k.buffer()[:min(bufferBytes, limit-total)])
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN {
			break
		}
		if n <= 0 { // EOF, or EIO of a terminal that nobody has open
			s.shut()
			break
		}
		total += int64(n)
		k.active()
		s.enlarge(n)
		if !k.store(s, k.buf[:n]) {
			break
		}
	}
	if total > 0 {
		k.marks()
		s.pace(total)
		k.tidy(total)
	}
	return total
}

// tidy gives back what the copying of so many bytes has left behind, now and
// then. Nothing else does: the collector runs only under pressure (GOGC=off), and
// memory that was used once would stay with a command that is silent afterwards.
func (k *keeper) tidy(n int64) {
	if k.copied += n; k.copied >= tidyBytes {
		k.copied = 0
		debug.FreeOSMemory()
	}
}

// pace decides whether the stream may gather for a moment.
func (s *stream) pace(n int64) {
	now := time.Now()
	if now.Sub(s.since) > shortTime {
		s.since, s.much = now, 0
	}
	s.rest = time.Time{}
	if s.much += n; s.much >= muchBytes {
		s.rest = now.Add(gather)
	}
}

// resting reports whether the stream gathers just now.
func (s *stream) resting() bool {
	if !s.rest.IsZero() && !time.Now().Before(s.rest) {
		s.rest = time.Time{}
	}
	return !s.rest.IsZero()
}

// buffer is made when the first output comes: a silent command costs none.
func (k *keeper) buffer() []byte {
	if k.buf == nil {
		k.buf = make([]byte, bufferBytes)
	}
	return k.buf
}

// store appends to the spool, and keeps what a full disk does not take.
func (k *keeper) store(s *stream, data []byte) bool {
	n, err := s.spool.Write(data)
	if err == nil {
		return true
	}
	if s.discard {
		s.dropped += int64(len(data) - n)
		return true
	}
	s.pending = append([]byte(nil), data[n:]...)
	s.retry = time.Now().Add(retryFull)
	return false
}

// flush writes what is pending; false while the disk is full.
func (k *keeper) flush(s *stream) bool {
	if s.pending == nil {
		return true
	}
	if time.Now().Before(s.retry) {
		return false
	}
	pending := s.pending
	s.pending = nil
	return k.store(s, pending)
}

// enlarge gives a writer that fills its pipe a larger one: fewer turns.
func (s *stream) enlarge(n int) {
	if s.enlarged || s.terminal || n < usualPipe {
		return
	}
	s.enlarged = true
	_, _ = unix.FcntlInt(uintptr(s.fd), unix.F_SETPIPE_SZ, pipeBytes)
}

func (s *stream) shut() {
	if !s.terminal { // the master serves input and size until the end
		_ = unix.Close(s.fd)
	}
	s.fd = -1
}

// drain copies what is in the stream now: the command's last words. It never
// waits for the end of the stream, since others may hold it open and write on.
func (k *keeper) drain(s *stream) {
	if !k.flush(s) || s.fd < 0 {
		return
	}
	if s.terminal {
		k.drainTerminal(s)
		return
	}
	left, err := unix.IoctlGetInt(s.fd, unix.TIOCINQ)
	for err == nil && left > 0 && s.fd >= 0 && s.pending == nil {
		n := k.copy(s, int64(left))
		if n == 0 {
			return
		}
		left -= int(n)
	}
}

// drainTerminal does the same for a terminal, which cannot tell how much is in
// it, and hands over a little late what was written last.
func (k *keeper) drainTerminal(s *stream) {
	for left := int64(pipeBytes); left > 0 && s.fd >= 0 && s.pending == nil; {
		n := k.copy(s, left)
		if n == 0 && !readable(s.fd, terminalRest) {
			return
		}
		left -= n
	}
}

func readable(fd int, wait time.Duration) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, int(wait.Milliseconds()))
	return err == nil && n > 0
}

// marks notes how far both streams are, so that a reader knows which bytes of
// each came together.
func (k *keeper) marks() {
	if k.order == nil {
		return
	}
	entry := k.rest
	if len(entry) == 0 {
		entry = binary.BigEndian.AppendUint64(entry, uint64(k.streams[0].spool.Size()))
		entry = binary.BigEndian.AppendUint64(entry, uint64(k.streams[1].spool.Size()))
	}
	// A mark that a full disk does not take is made up for by the next; half a
	// mark would shift all that follow.
	n, _ := k.order.Write(entry)
	k.rest = nil
	if n > 0 && n < len(entry) {
		k.rest = append([]byte(nil), entry[n:]...)
	}
}
