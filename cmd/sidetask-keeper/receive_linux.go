package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"sidetask/process/wire"

	"golang.org/x/sys/unix"
)

// receive waits for the job and the locked file. Both are nil where the
// daemon's end closed before the first byte; a job that breaks off is an error,
// and nothing of it is done.
func receive(fd int) (*wire.Job, int, error) {
	var length [4]byte
	oob := make([]byte, unix.CmsgSpace(4))
	n, oobn, err := first(fd, length[:], oob)
	if err != nil {
		return nil, -1, err
	}
	if n == 0 {
		return nil, -1, nil
	}
	lock, err := descriptor(oob[:oobn])
	if err != nil {
		return nil, -1, err
	}
	if err := readFull(fd, length[n:]); err != nil {
		return nil, -1, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size > wire.MaxJob {
		return nil, -1, fmt.Errorf("job of %d bytes, at most %d are possible", size, wire.MaxJob)
	}
	text := make([]byte, size)
	if err := readFull(fd, text); err != nil {
		return nil, -1, err
	}
	j := new(wire.Job)
	if err := wire.Decode(text, j); err != nil {
		return nil, -1, fmt.Errorf("job: %w", err)
	}
	return j, lock, nil
}

func first(fd int, buf, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = unix.Recvmsg(fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			return n, oobn, err
		}
	}
}

// descriptor takes the one descriptor out of a control message.
func descriptor(oob []byte) (int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return -1, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err == nil && len(fds) == 1 {
			return fds[0], nil
		}
	}
	return -1, errors.New("job without its locked file")
}

func readFull(fd int, buf []byte) error {
	for len(buf) > 0 {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		buf = buf[n:]
	}
	return nil
}

// tell answers the daemon. That it may be gone meanwhile changes nothing.
func tell(fd int, r wire.Report) {
	framed := wire.Frame(&r)
	for len(framed) > 0 {
		n, err := unix.SendmsgN(fd, framed, nil, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		framed = framed[n:]
	}
}
