package main

import (
	"math"
	"syscall"
	"time"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// loop keeps the command until it has ended, its record is written and nothing
// of its tree is left.
func (k *keeper) loop() {
	for {
		alone := k.reap()
		k.finish(alone)
		if alone && k.written {
			k.leave()
			return
		}
		k.deadlines()
		k.wait()
	}
}

// leave saves what still was in the streams and takes the socket away. The lock
// goes with the process.
func (k *keeper) leave() {
	for _, s := range k.streams {
		k.drain(s)
	}
	removeGroup(k.job.Group)
	k.control.close(k.job.Control)
}

// reap buries ended children, the command among them. alone: no process of the
// tree is left, for each would be a child of the keeper or below one.
func (k *keeper) reap() (alone bool) {
	for {
		var status syscall.WaitStatus
		var usage syscall.Rusage
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, &usage)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			return true
		case pid == 0:
			return false
		case pid == k.command:
			k.end(status, usage)
		}
	}
}

// end notes how the command ended.
func (k *keeper) end(status syscall.WaitStatus, usage syscall.Rusage) {
	k.endedAt = time.Now()
	k.ended = &wire.Exit{
		Format:  wire.Format,
		Row:     k.job.Row,
		PID:     k.command,
		Cause:   k.cause,
		EndedAt: k.endedAt.UnixMilli(),
		RanMs:   k.endedAt.Sub(k.began).Milliseconds(),
		CPUMs:   (usage.Utime.Nano() + usage.Stime.Nano()) / int64(time.Millisecond),
		RSSMax:  usage.Maxrss << 10,
	}
	k.account(k.ended)
	if k.cause == wire.CauseTimeout {
		k.ended.TimeoutMs = k.job.TimeoutMs
	}
	if status.Signaled() {
		k.ended.Signal, k.ended.Core = int(status.Signal()), status.CoreDump()
	} else {
		k.ended.Code = status.ExitStatus()
	}
	k.command = 0
	if k.pidfd >= 0 {
		_ = unix.Close(k.pidfd)
		k.pidfd = -1
	}
}

// finish writes the record once the command has ended and what it wrote is in
// the spool. A full disk delays that; for some seconds only, then the rest of
// the output is dropped and counted, since the end must be told.
func (k *keeper) finish(alone bool) {
	if k.ended == nil || k.written {
		return
	}
	gaveUp := time.Since(k.endedAt) > giveUp
	for _, s := range k.streams {
		if gaveUp && s.pending != nil {
			s.discard, s.retry = true, time.Time{}
		}
		k.drain(s)
		if s.pending != nil {
			return
		}
	}
	k.ended.Dropped = 0
	for _, s := range k.streams {
		k.ended.Dropped += s.dropped
	}
	k.ended.Leftovers = 0
	if !alone {
		k.ended.Leftovers = len(k.tree())
	}
	k.written = k.record.write(*k.ended) == nil
}

// deadlines does what is due: the time limit, the end of a grace.
func (k *keeper) deadlines() {
	now := time.Now()
	if !k.limit.IsZero() && k.ended == nil && !now.Before(k.limit) {
		k.limit = time.Time{}
		k.stop(wire.CauseTimeout, time.Duration(k.job.GraceMs)*time.Millisecond)
	}
	if k.stopping != nil && !now.Before(k.stopping.next) {
		k.killTree()
	}
}

// until is how long nothing is due; nil = for ever.
func (k *keeper) until() *unix.Timespec {
	var next time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if k.ended == nil {
		sooner(k.limit)
	}
	if k.stopping != nil {
		sooner(k.stopping.next)
	}
	for _, s := range k.streams {
		if s.pending != nil {
			sooner(s.retry)
		} else if s.fd >= 0 {
			sooner(s.rest)
		}
	}
	if k.ended != nil && !k.written {
		sooner(time.Now().Add(retryFull)) // the record is tried again
	}
	if next.IsZero() {
		return nil
	}
	// Rounded up: a deadline is never looked at before its time.
	ts := unix.NsecToTimespec(max(int64(time.Until(next)), 0) + 1)
	return &ts
}

// wait sleeps until something happens, and serves it.
func (k *keeper) wait() {
	polled := make([]unix.PollFd, 0, 8)
	var serve []func(events int16)
	add := func(fd int, events int16, f func(events int16)) {
		polled = append(polled, unix.PollFd{Fd: int32(fd), Events: events})
		serve = append(serve, f)
	}
	add(k.signals.fd, unix.POLLIN, func(int16) {
		stop, swept := k.signals.clear()
		if swept {
			k.control.renew(k.job.Control)
		}
		if stop {
			k.stop(wire.CauseStop, time.Duration(k.job.GraceMs)*time.Millisecond)
		}
	})
	if k.pidfd >= 0 {
		add(k.pidfd, unix.POLLIN, func(int16) {}) // reap does the rest
	}
	if k.memory.fd >= 0 {
		add(k.memory.fd, unix.POLLPRI, func(int16) { k.memory.look() })
	}
	for _, s := range k.streams {
		if s.fd >= 0 && s.pending == nil && !s.resting() {
			add(s.fd, unix.POLLIN, func(int16) { k.copy(s, math.MaxInt64) })
		}
	}
	if k.input.pendingWrites() {
		add(k.input.fd, unix.POLLOUT, func(int16) { k.feed() })
	}
	k.control.poll(add, k)
	n, err := unix.Ppoll(polled, k.until(), nil)
	if err != nil || n == 0 {
		k.retry()
		return
	}
	for i := range polled {
		if polled[i].Revents != 0 {
			serve[i](polled[i].Revents)
		}
	}
	k.retry()
}

// retry gives a full disk another chance.
func (k *keeper) retry() {
	for _, s := range k.streams {
		if s.pending != nil {
			k.flush(s)
		}
	}
}

// active notes that the command or its user did something.
func (k *keeper) active() { k.quiet = time.Now() }
