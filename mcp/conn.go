package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callHeader carries a call's key from the connection to its handler. The
// library hands a handler neither the id nor the raw parameters of a request,
// only what a transport put into RequestExtra.
const callHeader = "Sidetask-Call"

// conn is the agent's stdio: one JSON-RPC object a line. It is the library's
// transport and its one connection. Unlike the library's own it survives a
// line that is no message, and it knows when an answer has been written.
type conn struct {
	in    io.Reader
	lines chan line     // what the reading goroutine found
	ended chan struct{} // closed by Close
	once  sync.Once

	writing sync.Mutex // held while a line is written to out
	out     io.Writer

	mu    sync.Mutex // guards calls
	calls map[string]*openCall
}

// openCall is a tools/call whose answer has not been written. Its handler sets
// written and failed before it returns; the library then writes the answer in
// the same goroutine, and one of the two is called.
type openCall struct {
	meta      json.RawMessage // its _meta, as it came
	cancelled bool            // the agent takes no answer any more; guarded by conn.mu
	written   func()          // nil, or: the agent has the answer
	failed    func()          // nil, or: the agent has it not
}

func newConn(in io.Reader, out io.Writer) *conn {
	return &conn{in: in, out: out, lines: make(chan line), ended: make(chan struct{}), calls: make(map[string]*openCall)}
}

// Connect begins to read. The reading goroutine ends with the input, or at
// Close if the input can be closed; where that does not free a blocked read (a
// terminal, a pipe of the shell) it ends with the process.
func (c *conn) Connect(context.Context) (mcp.Connection, error) {
	go func() {
		defer close(c.lines)
		in := bufio.NewReaderSize(c.in, 64<<10)
		for {
			l, err := readLine(in)
			if len(bytes.TrimSpace(l.data)) > 0 {
				select {
				case c.lines <- l:
				case <-c.ended:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return c, nil
}

// Read gives the agent's next message. A line that is none is answered here.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.ended:
			return nil, io.EOF
		case l, ok := <-c.lines:
			if !ok {
				return nil, io.EOF
			}
			msg, refused := decode(l)
			if refused != nil {
				if err := c.writeLine(refused.line()); err != nil {
					return nil, err
				}
				continue
			}
			if req, ok := msg.(*jsonrpc.Request); ok {
				c.note(req)
			}
			return msg, nil
		}
	}
}

// note looks at what a request means for the open calls.
func (c *conn) note(req *jsonrpc.Request) {
	var params struct {
		Meta      json.RawMessage `json:"_meta"`
		RequestID json.RawMessage `json:"requestId"`
	}
	_ = json.Unmarshal(req.Params, &params) // the library refuses bad parameters
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case req.Method == "tools/call" && req.ID.IsValid():
		key := callKey(req.ID)
		if _, open := c.calls[key]; open {
			return // the library refuses a second one; it must not take the place of the first
		}
		c.calls[key] = &openCall{meta: params.Meta}
		req.Extra = &mcp.RequestExtra{Header: http.Header{callHeader: {key}}}
	case req.Method == "notifications/cancelled":
		id, ok := hidden(params.RequestID)
		if !ok {
			return
		}
		if call := c.calls[callKey(id)]; call != nil {
			call.cancelled = true
		}
		req.Params = fmt.Appendf(nil, `{"requestId":%q}`, id.Raw()) // the reason is for nobody
	}
}

// callKey is a call's id as a text.
func callKey(id jsonrpc.ID) string { return fmt.Sprint(id.Raw()) }

// open is the call that a handler has been given.
func (c *conn) open(req *mcp.CallToolRequest) *openCall {
	if req.Extra != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if call, ok := c.calls[req.Extra.Header.Get(callHeader)]; ok {
			return call
		}
	}
	return &openCall{}
}

// answered takes the call of that id off the list.
func (c *conn) answered(id jsonrpc.ID) (call *openCall, cancelled bool) {
	key := callKey(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	call, ok := c.calls[key]
	if !ok {
		return &openCall{}, false
	}
	delete(c.calls, key)
	return call, call.cancelled
}

// Write writes a message. A call that the agent has cancelled gets no answer,
// even where the daemon has given one: then that has not been delivered.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	answer, ok := msg.(*jsonrpc.Response)
	if !ok {
		return c.writeMessage(msg)
	}
	call, cancelled := c.answered(answer.ID)
	var err error
	if !cancelled {
		err = c.writeMessage(msg)
	}
	outcome := call.written
	if cancelled || err != nil || answer.Error != nil {
		outcome = call.failed
	}
	if outcome != nil {
		outcome()
	}
	return err
}

func (c *conn) writeMessage(msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if answer, ok := msg.(*jsonrpc.Response); ok {
		data = shown(answer.ID, data)
	}
	return c.writeLine(data)
}

func (c *conn) writeLine(data []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// Close ends Read and closes the input.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.ended)
		if in, ok := c.in.(io.Closer); ok {
			_ = in.Close()
		}
	})
	return nil
}

// SessionID is empty: stdio has one session.
func (c *conn) SessionID() string { return "" }
