package client

import (
	"net"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// writeTime is how long the daemon may take nothing before the connection
// counts as dead.
const writeTime = 30 * time.Second

// stream is the library's plain stream with two things that it lacks: a write
// that cannot hang for ever, and a way to wait for the end of its read loop.
type stream struct {
	jsonrpc2.ObjectStream
	conn net.Conn

	once  sync.Once
	ended chan struct{} // closed when the read loop has got its last error
}

func newStream(conn net.Conn) *stream {
	return &stream{ObjectStream: jsonrpc2.NewPlainObjectStream(conn), conn: conn, ended: make(chan struct{})}
}

// WriteObject writes one message and its newline. After an error the stream is
// closed: half a message may have gone out.
func (s *stream) WriteObject(v any) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return err
	}
	err := s.ObjectStream.WriteObject(v)
	if err != nil {
		_ = s.conn.Close()
	}
	return err
}

// ReadObject reads the next message.
func (s *stream) ReadObject(v any) error {
	err := s.ObjectStream.ReadObject(v)
	if err != nil {
		s.once.Do(func() { close(s.ended) })
	}
	return err
}
