package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"

	"sidetask/rpc"
)

// Limits of the client.
const (
	// dials is how often a connection is made that is lost before initialize is answered.
	dials = 3
	// maxRequests of the daemon may be in work at once; the next is refused.
	maxRequests = 64
	// maxNotifications may wait for the handler; a client that is further
	// behind ends its connection, as the daemon does with a slow reader.
	maxNotifications = 4096
)

// Handler answers the daemon. For a request (task/cancel, owner/resolve,
// policy/pre, policy/post) its result or error is the answer; an error that is
// an [*rpc.Error] keeps its code. For a notification both are dropped.
//
// Notifications are handled one after another in the order sent; each request
// has a goroutine of its own. ctx ends when the connection does. A handler may
// call the client, but must not close it.
type Handler func(ctx context.Context, c *Client, method string, params json.RawMessage) (any, error)

// Options say whom to connect to and as whom.
type Options struct {
	Socket  string // path of the socket, absolute
	Name    string // of this program, for `sidetask status`
	Version string // of this program

	Token     string     // binds the connection to that owner; "" for the operator
	Delivered bool       // this client says tools/delivered (see [Client.CallDelivered])
	Handle    Handler    // nil: notifications are dropped, requests refused
	Autostart *Autostart // nil: no daemon is started
}

// Client is one connection to the daemon. Its methods may be called
// concurrently.
type Client struct {
	server rpc.Initialized
	conn   *conn
	handle Handler
	notes  chan message
	slots  chan struct{} // one for each request of the daemon in work

	work sync.WaitGroup // all goroutines; each ends with the connection
}

// Dial connects to the daemon and says who is calling. With o.Autostart it
// starts a daemon if there is none. ctx bounds the whole of it and not the
// life of the connection, which the caller ends with [Client.Close].
//
// Errors: a [*StartError] for a daemon that was started and ended, one that
// wraps [ErrNoDaemon] where there is none, a [*DeafError] for one that hangs, an [*rpc.Error] for a refused token.
func Dial(ctx context.Context, o Options) (*Client, error) {
	for try := 1; ; try++ {
		conn, err := reach(ctx, o)
		if err != nil {
			return nil, err
		}
		c, err := open(ctx, conn, o)
		// A daemon may end just now; the next try finds its socket dead, or the next daemon.
		if !errors.Is(err, ErrLost) || try == dials {
			return c, err
		}
	}
}

// open speaks initialize on a fresh connection, which it owns from now on.
func open(ctx context.Context, nc net.Conn, o Options) (*Client, error) {
	c := &Client{
		conn:   newConn(nc),
		handle: o.Handle,
		notes:  make(chan message, maxNotifications),
		slots:  make(chan struct{}, maxRequests),
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	c.work.Go(func() {
		defer end()
		c.conn.read(func(m message) { c.receive(life, m) })
	})
	c.work.Go(func() { c.deliver(life) })

	ctx, cancel := patience(ctx, o.Socket, findHolder)
	defer cancel()
	err := c.Call(ctx, rpc.MethodInitialize, rpc.Initialize{
		ProtocolVersion: rpc.Version,
		Client:          rpc.Peer{Name: o.Name, Version: o.Version},
		Token:           o.Token,
		Capabilities:    rpc.ClientCapabilities{Delivered: o.Delivered},
	}, &c.server)
	if err == nil && c.server.ProtocolVersion != rpc.Version {
		err = fmt.Errorf("the daemon speaks protocol %d and this program %d: run `sidetask daemon restart`", c.server.ProtocolVersion, rpc.Version)
	}
	if errors.Is(err, rpc.ErrShuttingDown) { // it is about to go: the next try is for the next one
		select {
		case <-c.Done():
			err = ErrLost
		case <-ctx.Done():
		}
	}
	if err != nil {
		_ = c.Close()
		if deaf := (*DeafError)(nil); errors.As(context.Cause(ctx), &deaf) {
			err = deaf
		}
		return nil, err
	}
	return c, nil
}

// Server is what the daemon said of itself.
func (c *Client) Server() rpc.Initialized { return c.server }

// Done is closed when the connection has ended, whoever ended it.
func (c *Client) Done() <-chan struct{} { return c.conn.done }

// Close ends the connection and waits for its goroutines, handlers included.
// Open calls fail with [ErrLost]. It may be repeated.
func (c *Client) Close() error {
	err := c.conn.net.Close()
	c.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
