package main

import (
	"errors"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// input is the command's stdin, or its terminal.
type input struct {
	fd       int // -1: closed
	terminal bool
	queue    []*write // in the order asked; the first is under way
}

// write is data on its way in; its asker gets the answer when all of it is taken.
type write struct {
	from *conn
	data []byte
	done int
	eof  bool
}

func newInput(fd int, terminal bool) *input { return &input{fd: fd, terminal: terminal} }

func (in *input) pendingWrites() bool { return in != nil && len(in.queue) > 0 }

// endOfInput is ^D: what a terminal reads as the end.
const endOfInput = 4

// push queues a write, and begins it at once where nothing is before it.
func (k *keeper) push(w *write) {
	switch {
	case k.input == nil:
		w.from.reply(wire.Answer{Error: "the command takes no input: start it with stdin or pty (sidetask run --stdin or --pty)"})
		return
	case k.input.fd < 0 && w.eof && len(w.data) == 0:
		w.from.reply(wire.Answer{}) // it is so
		return
	case k.input.fd < 0:
		w.from.reply(wire.Answer{Error: "the command takes no more input: its stdin was ended, or closed by the command"})
		return
	}
	if w.eof && k.input.terminal {
		w.data = append(w.data, endOfInput)
	}
	k.input.queue = append(k.input.queue, w)
	k.feed()
}

// feed writes as much as the command takes now.
func (k *keeper) feed() {
	in := k.input
	for len(in.queue) > 0 {
		w := in.queue[0]
		for w.done < len(w.data) {
			n, err := unix.Write(in.fd, w.data[w.done:])
			if err == unix.EINTR {
				continue
			}
			if err == unix.EAGAIN {
				return
			}
			if err != nil {
				k.refuse(err)
				return
			}
			w.done += n
			k.active()
		}
		in.queue = in.queue[1:]
		if w.eof && !in.terminal {
			_ = unix.Close(in.fd)
			in.fd = -1
		}
		w.from.reply(wire.Answer{Written: w.done})
		if in.fd < 0 {
			k.refuse(errors.New("its input has ended"))
			return
		}
	}
}

// refuse answers all queued writes: the command takes no more.
func (k *keeper) refuse(err error) {
	in := k.input
	for _, w := range in.queue {
		w.from.reply(wire.Answer{Error: "the command takes no input: " + err.Error(), Written: w.done})
	}
	in.queue = nil
	if in.fd >= 0 && !in.terminal {
		_ = unix.Close(in.fd)
		in.fd = -1
	}
}

// forget drops the writes of a connection that is gone.
func (in *input) forget(c *conn) {
	if in == nil {
		return
	}
	kept := in.queue[:0]
	for _, w := range in.queue {
		if w.from != c {
			kept = append(kept, w)
		}
	}
	in.queue = kept
}
