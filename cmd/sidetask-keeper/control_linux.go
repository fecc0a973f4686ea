package main

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// control is the socket on which the keeper is asked for things, adopted or not.
type control struct {
	fd    int
	conns []*conn
}

// maxConns bounds the askers served at once; more wait in the socket's queue.
const maxConns = 16

// conn is one asker. It has one request open at a time.
type conn struct {
	fd   int // -1: gone
	read []byte
	busy bool
}

// listen makes the socket. One of that name can only be left from a row that
// never ran: rows are not used again.
func listen(path string) (*control, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("make control socket: %w", err)
	}
	_ = os.Remove(path)
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err == nil {
		err = unix.Listen(fd, unix.SOMAXCONN)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("make control socket %s: %w", path, err)
	}
	return &control{fd: fd}, nil
}

// renew makes the socket anew where a cleaner of temporary files took it away. It
// appears when it is listened on already. The askers of before stay.
func (c *control) renew(path string) {
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		return
	}
	fresh := path + ".new"
	another, err := listen(fresh)
	if err != nil {
		return // whoever asked for it finds none
	}
	if err := os.Rename(fresh, path); err != nil {
		another.close(fresh)
		return
	}
	_ = unix.Close(c.fd)
	c.fd = another.fd
}

func (c *control) close(path string) {
	_ = os.Remove(path)
	_ = unix.Close(c.fd)
}

// poll adds what is to be waited for.
func (c *control) poll(add func(fd int, events int16, serve func(int16)), k *keeper) {
	kept := c.conns[:0]
	for _, conn := range c.conns {
		if conn.fd >= 0 {
			kept = append(kept, conn)
		}
	}
	c.conns = kept
	if len(c.conns) < maxConns {
		add(c.fd, unix.POLLIN, func(int16) { c.accept() })
	}
	for _, conn := range c.conns {
		events := int16(unix.POLLIN)
		if conn.busy {
			events = 0 // its hang-up is heard all the same
		}
		add(conn.fd, events, func(got int16) { k.hear(conn, got) })
	}
}

// accept lets in the own user and root, nobody else.
func (c *control) accept() {
	fd, _, err := unix.Accept4(c.fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
	if err != nil {
		return
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil || peer.Uid != 0 && int(peer.Uid) != os.Getuid() {
		_ = unix.Close(fd)
		return
	}
	c.conns = append(c.conns, &conn{fd: fd})
}

// hear reads what an asker sends, and serves the request once it is whole.
func (k *keeper) hear(c *conn, events int16) {
	if c.fd < 0 {
		return
	}
	buf := k.buffer()
	n := 0
	if events&unix.POLLIN != 0 {
		var err error
		if n, err = unix.Read(c.fd, buf); err == unix.EINTR || err == unix.EAGAIN {
			return
		}
	}
	if n <= 0 {
		c.close()
		k.input.forget(c)
		return
	}
	c.read = append(c.read, buf[:n]...)
	end := bytes.IndexByte(c.read, '\n')
	if end < 0 {
		if len(c.read) > wire.MaxRequest {
			c.close()
		}
		return
	}
	line := c.read[:end+1]
	c.read = nil
	var r wire.Request
	if err := wire.Decode(line, &r); err != nil {
		c.close()
		return
	}
	c.busy = true
	k.serve(c, r)
}

// serve answers one request.
func (k *keeper) serve(c *conn, r wire.Request) {
	switch r.Op {
	case wire.OpStop:
		grace := k.job.GraceMs
		if r.GraceMs != nil {
			grace = *r.GraceMs
		}
		c.reply(wire.Answer{Processes: k.stop(wire.CauseStop, time.Duration(grace)*time.Millisecond)})
	case wire.OpStatus:
		c.reply(k.status())
	case wire.OpWrite:
		k.push(&write{from: c, data: r.Data})
	case wire.OpEOF:
		k.push(&write{from: c, data: r.Data, eof: true})
	case wire.OpResize:
		c.reply(k.resize(r.Cols, r.Rows))
	case wire.OpBeside:
		beside(c, r)
	default:
		c.reply(wire.Answer{Error: fmt.Sprintf("this keeper does not know %q", r.Op)})
	}
}

func (k *keeper) resize(cols, rows int) wire.Answer {
	if k.input == nil || !k.input.terminal {
		return wire.Answer{Error: "the command has no terminal: start it with pty (sidetask run --pty)"}
	}
	if err := resize(k.input.fd, cols, rows); err != nil {
		return wire.Answer{Error: err.Error()}
	}
	return wire.Answer{}
}

// maxNames bounds how many survivors of a kill are named.
const maxNames = 10

func (k *keeper) status() wire.Answer {
	tree := k.tree()
	a := wire.Answer{Processes: len(tree), Waiting: k.waiting(tree)}
	if k.stopping != nil {
		for _, p := range tree[:min(len(tree), maxNames)] {
			a.Names = append(a.Names, fmt.Sprintf("%s (%d)", p.name, p.pid))
		}
	}
	return a
}

// reply ends a request. An answer is small and fits the socket's buffer; who
// does not take it is gone.
func (c *conn) reply(a wire.Answer) {
	c.busy = false
	if c.fd < 0 {
		return
	}
	if _, err := unix.SendmsgN(c.fd, wire.Encode(&a), nil, nil, unix.MSG_NOSIGNAL); err != nil {
		c.close()
	}
}

func (c *conn) close() {
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
		c.fd = -1
	}
}
