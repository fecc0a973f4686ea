package server

import (
	"sync"
	"time"

	"sidetask/rpc"
)

// What messages may cost before they are whole.
const (
	// smallMessage is what every connection may hold of an unfinished message.
	smallMessage = 64 << 10
	// maxLarge is how many larger ones may be unfinished at once, of all
	// connections; more wait their turn, unread.
	maxLarge = 4
	// largeShare of slowClient is the time of a large one as a whole, for the sake of
	// those that wait: on a local socket 16 MiB take some milliseconds.
	largeShare = 3
	// maxPiece is the largest piece that an unfinished message grows by.
	maxPiece = 1 << 20
)

// reception is what one connection has of a message that is not whole yet. nil
// bounds nothing.
type reception struct {
	conn  *conn
	timed bool // the connection has a read deadline
	large bool // it has one of the places for large messages
}

// goesOn is called before more of an unfinished message is waited for. A small one
// may not stand still, a large one has its time as a whole: it keeps others waiting.
func (r *reception) goesOn() {
	if r == nil || r.large {
		return
	}
	r.timed = true
	r.conn.readBy(time.Now().Add(r.conn.server.slow))
}

// grows is called with what there is of a message; a large one waits for a place.
func (r *reception) grows(size int) error {
	if r == nil || r.large || size <= smallMessage {
		return nil
	}
	select {
	case r.conn.server.large <- struct{}{}:
	case <-r.conn.server.done:
		return ErrClosed
	case <-r.conn.ctx.Done():
		return r.conn.ctx.Err()
	}
	r.large, r.timed = true, true
	r.conn.readBy(time.Now().Add(r.conn.server.slow / largeShare))
	return nil
}

// over is called when the message is whole or given up.
func (r *reception) over() {
	if r == nil {
		return
	}
	if r.large {
		<-r.conn.server.large
	}
	if r.timed {
		r.conn.readBy(time.Time{})
	}
	r.large, r.timed = false, false
}

// pool has the large pieces of messages that are over.
func (r *reception) pool() *sync.Pool {
	if r == nil {
		return nil
	}
	return &r.conn.server.pieces
}

// readBy sets the time by which the next bytes must come; one that ends reads no more.
func (c *conn) readBy(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending == nil {
		_ = c.nc.SetReadDeadline(t)
	}
}

// errUnfinished is the last word to a client whose message did not come to its end.
var errUnfinished = rpc.Errorf(rpc.CodeInvalidRequest, "a message was not finished in time; the connection is closed")

// pieces is a message that grows without being copied: as long as it is not
// whole it costs little more than its length. Large pieces are used again, so
// that a message given up makes room for the next and no garbage; what nobody
// uses goes back by and by.
type pieces struct {
	pool *sync.Pool // of *[maxPiece]byte; nil = none
	full [][]byte
	last []byte
	size int
}

func (p *pieces) add(data []byte) {
	p.size += len(data)
	for len(data) > 0 {
		if len(p.last) == cap(p.last) {
			if p.last != nil {
				p.full = append(p.full, p.last)
			}
			p.last = p.piece(max(len(data), 2*cap(p.last)))
		}
		n := min(len(data), cap(p.last)-len(p.last))
		p.last = append(p.last, data[:n]...)
		data = data[n:]
	}
}

func (p *pieces) piece(size int) []byte {
	if size < maxPiece || p.pool == nil {
		return make([]byte, 0, min(size, maxPiece))
	}
	if used, ok := p.pool.Get().(*[maxPiece]byte); ok {
		return used[:0]
	}
	return make([]byte, 0, maxPiece)
}

// whole is the message in one; p is empty after it.
func (p *pieces) whole() []byte {
	whole := p.last
	if len(p.full) == 0 {
		p.last = nil // it is the caller's now
	} else {
		whole = make([]byte, 0, p.size)
		for _, piece := range p.full {
			whole = append(whole, piece...)
		}
		whole = append(whole, p.last...)
	}
	p.drop()
	return whole
}

// drop gives a message up.
func (p *pieces) drop() {
	for _, piece := range append(p.full, p.last) {
		if cap(piece) == maxPiece && p.pool != nil {
			p.pool.Put((*[maxPiece]byte)(piece[:maxPiece]))
		}
	}
	*p = pieces{pool: p.pool}
}
