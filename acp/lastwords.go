package acp

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// lastWords is how long the agent's stdout may stay open and silent after its
	// end: something that it left running may hold it.
	lastWords = 500 * time.Millisecond
	// lastBytes is how much is read then: no pipe holds more.
	lastBytes = 4 << 20
	// oneRead is what a read that need not wait is given at least.
	oneRead = 10 * time.Millisecond
)

// lastReader reads the agent's stdout: to its end, or, once the agent has ended,
// until it has been empty for lastWords. Only the time of reads is counted: while
// the editor does not take what there is, nothing is lost.
type lastReader struct {
	from io.Reader

	mu   sync.Mutex // guards over, and the deadline of from
	over bool

	left time.Duration // of lastWords; the reader's own, as is size
	size int           // what was read since
}

func newLastReader(from io.Reader) *lastReader { return &lastReader{from: from, left: lastWords} }

// deadliner is a pipe of the system's; one in memory ends with its writer.
type deadliner interface{ SetReadDeadline(time.Time) error }

// agentEnded says that the agent has. A read under way begins anew.
func (r *lastReader) agentEnded() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if d, ok := r.from.(deadliner); ok {
		_ = d.SetReadDeadline(time.Now())
	}
}

// begin bounds the next read if the agent has ended.
func (r *lastReader) begin() (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.from.(deadliner); ok && r.over {
		_ = d.SetReadDeadline(time.Now().Add(max(r.left, oneRead)))
	}
	return r.over
}

// Read implements [io.Reader].
func (r *lastReader) Read(b []byte) (int, error) {
	for {
		over := r.begin()
		if r.size > lastBytes {
			return 0, io.EOF
		}
		began := time.Now()
		n, err := r.from.Read(b)
		if over {
			r.left -= time.Since(began)
			r.size += n
		}
		switch late := errors.Is(err, os.ErrDeadlineExceeded); {
		case !late || n > 0:
			return n, err
		case over:
			return 0, io.EOF
		}
	}
}
