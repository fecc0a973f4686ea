package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"strconv"
	"sync"
	"time"

	"sidetask/rpc"
)

// writeTime is how long the daemon may take nothing before the connection
// counts as dead.
const writeTime = 30 * time.Second

// lastWord is how long a daemon that takes nothing any more may take to say why.
const lastWord = 100 * time.Millisecond

// readBytes are asked of the socket at once.
const readBytes = 64 << 10

// message is one JSON-RPC message of either direction. Results stay raw until
// somebody wants them: an answer of task/tail is large, and each look at it costs.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpc.Error      `json:"error,omitempty"`
}

// conn is a connection that carries messages: it writes them whole and brings
// answers to their calls.
type conn struct {
	net  net.Conn
	done chan struct{} // closed when the read loop has ended

	writing sync.Mutex // held while one message is written

	mu      sync.Mutex
	calls   map[uint64]chan message // open ones; nil when the connection has ended
	lastID  uint64
	refused *rpc.Error // what the daemon said of the connection, not of a call, before it closed it
}

func newConn(nc net.Conn) *conn {
	return &conn{net: nc, done: make(chan struct{}), calls: make(map[uint64]chan message)}
}

// begin opens a call: its answer comes on the channel, which is closed if the
// connection ends before. The caller forgets it in the end.
func (c *conn) begin() (uint64, <-chan message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		return 0, nil, c.lostLocked()
	}
	c.lastID++
	answer := make(chan message, 1)
	c.calls[c.lastID] = answer
	return c.lastID, answer, nil
}

func (c *conn) forget(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

// write sends one message. After an error the connection is closed: half a
// message may have gone out.
func (c *conn) write(m message) error {
	m.Version = "2.0"
	line, err := encode(m)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	err = c.net.SetWriteDeadline(time.Now().Add(writeTime))
	if err == nil {
		_, err = c.net.Write(line)
	}
	if err != nil {
		// The reader goes on: what the daemon said before it closed is the better error.
		_ = c.net.SetReadDeadline(time.Now().Add(lastWord))
		<-c.done
		return c.lost()
	}
	return nil
}

// read takes messages until the connection ends, and hands those that are no
// answers to other, which must not wait: answers would not be read meanwhile.
func (c *conn) read(other func(message)) {
	lines := bufio.NewReaderSize(c.net, readBytes)
	for {
		line, err := lines.ReadBytes('\n') // the daemon ends each message with one
		if err != nil {
			break
		}
		m, err := parse(line)
		if err != nil {
			break
		}
		if m.Method != "" {
			other(m)
			continue
		}
		c.answered(m)
	}
	_ = c.net.Close()
	c.mu.Lock()
	for _, answer := range c.calls {
		close(answer)
	}
	c.calls = nil
	c.mu.Unlock()
	close(c.done)
}

// parse reads a message. Nearly all bytes come in answers with a result, which
// is cut out of the envelope as the daemon writes it: whoever wants it looks at
// each of its bytes anyway.
func parse(line []byte) (m message, err error) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"jsonrpc":"2.0","id":`)); ok {
		id, rest, _ := bytes.Cut(rest, []byte(`,"result":`))
		result, whole := bytes.CutSuffix(bytes.TrimSpace(rest), []byte("}"))
		if whole && len(bytes.Trim(id, "0123456789")) == 0 {
			return message{ID: id, Result: result}, nil
		}
	}
	err = json.Unmarshal(line, &m)
	return m, err
}

// answered brings an answer to its call. One that nobody waits for any more is
// dropped; an error without an id is about the connection (too many of them, a
// message that is too large), which the daemon then closes.
func (c *conn) answered(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id, err := strconv.ParseUint(string(m.ID), 10, 64)
	if err != nil {
		c.refused = m.Error
		return
	}
	if answer, open := c.calls[id]; open {
		delete(c.calls, id)
		answer <- m // has room for one
	}
}

// lost is why there is no answer: the daemon's word, or [ErrLost].
func (c *conn) lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lostLocked()
}

// lostLocked is lost; c.mu must be held.
func (c *conn) lostLocked() error {
	if c.refused != nil {
		return c.refused
	}
	return ErrLost
}

// encode makes v one line of JSON, ended by a newline.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // a command may well have & and >
	err := encoder.Encode(v)
	return b.Bytes(), err
}
