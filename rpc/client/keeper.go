package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"sidetask/rpc"
)

// KeeperOptions are [Options] and what a kept connection needs beyond.
type KeeperOptions struct {
	Options
	// OnConnect makes a fresh connection usable (registers owners, subscribes);
	// calls wait until it has returned. An error ends that connection, and the
	// next try follows later. It must not call the Keeper.
	OnConnect func(ctx context.Context, c *Client) error
	// First is a connection to begin with, made by [Dial] with the same Options;
	// nil for none. It is the Keeper's from now on.
	First *Client
	// Revive starts a daemon again that crashed under the connection, so that
	// what it was to tell is told. One that was stopped stays so.
	Revive bool
}

// Pauses after a connection that could not be made usable. Waiting for a daemon
// that is not there needs none: the socket's folder tells.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// Keeper keeps a connection to the daemon over the daemon's restarts. One
// goroutine connects, waits for the end and connects again; it waits for the
// socket to come back and asks nobody meanwhile. It starts a daemon only when
// [Keeper.Start] says that somebody needs one: else a daemon that was stopped
// would not stay so.
type Keeper struct {
	options KeeperOptions
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the goroutine has ended
	nudge   chan struct{} // holds one: Start was called

	mu      sync.Mutex
	current *Client       // nil while there is no usable connection
	err     error         // of the newest try, nil once connected
	changed chan struct{} // closed and replaced when the two above change
}

// Keep begins to connect and returns at once. The caller ends it with
// [Keeper.Close].
func Keep(o KeeperOptions) *Keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Keeper{
		options: o, cancel: cancel,
		ended: make(chan struct{}), nudge: make(chan struct{}, 1), changed: make(chan struct{}),
	}
	go func() {
		defer close(k.ended)
		k.run(ctx)
	}()
	return k
}

// Start says that somebody needs the daemon now (a tool call, a new session):
// if there is none, one is started. It does not wait.
func (k *Keeper) Start() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != nil && !k.current.gone() {
		return // a nudge that nobody needs would start a daemon when this one is stopped
	}
	k.err = nil // of an earlier start; this one has its own outcome
	select {
	case k.nudge <- struct{}{}:
	default:
	}
}

// Connected reports whether a call would go out at once.
func (k *Keeper) Connected() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current != nil && !k.current.gone()
}

// Client waits for a usable connection, up to ctx. When ctx ends first, the
// error says why there was none. A daemon that could not be started is an
// error at once.
func (k *Keeper) Client(ctx context.Context) (*Client, error) {
	for {
		k.mu.Lock()
		current, err, changed := k.current, k.err, k.changed
		k.mu.Unlock()
		var failed *StartError
		switch {
		case current != nil && !current.gone():
			return current, nil
		case errors.As(err, &failed), errors.Is(err, net.ErrClosed):
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return nil, err
		}
	}
}

// Call waits for the connection and calls. A daemon that is shutting down
// refused the call, so it is made again on the next connection. [ErrLost]
// means that the connection ended in the middle: the caller knows whether the
// call may be repeated.
func (k *Keeper) Call(ctx context.Context, method string, params, result any) error {
	for {
		c, err := k.Client(ctx)
		if err != nil {
			return err
		}
		err = c.Call(ctx, method, params, result)
		if !errors.Is(err, rpc.ErrShuttingDown) {
			return err
		}
		select {
		case <-c.Done():
		case <-ctx.Done():
			return err
		}
	}
}

// Close ends the connection and waits for everything that belongs to it.
func (k *Keeper) Close() error {
	k.cancel()
	<-k.ended
	return nil
}

// run connects, again and again, until ctx ends.
func (k *Keeper) run(ctx context.Context) {
	defer k.set(nil, net.ErrClosed)
	defer func() {
		if k.options.First != nil { // ended before it began
			_ = k.options.First.Close()
		}
	}()
	start, served, pause := false, false, firstPause
	for ctx.Err() == nil {
		c, err := k.connect(ctx, start, served && k.options.Revive)
		start = false
		if err != nil {
			k.set(nil, err)
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-k.nudge:
				start = true
			case <-timer.C:
			}
			timer.Stop()
			pause = min(2*pause, lastPause)
			continue
		}
		served, pause = true, firstPause
		k.set(c, nil)
		select {
		case <-c.Done():
		case <-ctx.Done():
		}
		k.set(nil, nil)
		_ = c.Close()
	}
}

// connect makes one usable connection. Unless start says to start a daemon, or
// revive does and the last one crashed, it waits for one, or for somebody to call
// Start.
func (k *Keeper) connect(ctx context.Context, start, revive bool) (*Client, error) {
	c := k.options.First
	k.options.First = nil
	if c == nil {
		conn, err := k.reach(ctx, start, revive)
		if err != nil {
			return nil, err
		}
		if c, err = open(ctx, conn, k.options.Options); err != nil {
			return nil, err
		}
	}
	if k.options.OnConnect != nil {
		if err := k.options.OnConnect(ctx, c); err != nil {
			_ = c.Close()
			return nil, err
		}
	}
	return c, nil
}

func (k *Keeper) reach(ctx context.Context, start, revive bool) (net.Conn, error) {
	if start {
		return reach(ctx, k.options.Options)
	}
	conn, err := connect(ctx, k.options.Socket)
	if !errors.Is(err, ErrNoDaemon) {
		return conn, err
	}
	k.set(nil, err)
	if revive && errors.Is(err, errCrashed) {
		return reach(ctx, k.options.Options)
	}
	conn, err = k.awaitOrNudge(ctx)
	if conn != nil || err != nil {
		return conn, err
	}
	return reach(ctx, k.options.Options)
}

// awaitOrNudge waits until somebody listens on the socket and connects, or
// until Start is called: then there is no connection, and no error.
func (k *Keeper) awaitOrNudge(ctx context.Context) (net.Conn, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		conn net.Conn
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		conn, err := await(waiting, k.options.Socket)
		done <- outcome{conn, err}
	}()
	select {
	case o := <-done:
		return o.conn, o.err
	case <-k.nudge:
		cancel()
		o := <-done // a connection that came at the same moment is as good
		if o.conn == nil && ctx.Err() == nil {
			o.err = nil
		}
		return o.conn, o.err
	}
}

// set says what there is now and wakes who waits for it. What a nudge before asked
// for is there with a connection, unless that is gone already; one that comes later
// is for the next, so it must not be taken once the lock is given up.
func (k *Keeper) set(c *Client, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if c != nil && !c.gone() {
		select {
		case <-k.nudge:
		default:
		}
	}
	k.current, k.err = c, err
	close(k.changed)
	k.changed = make(chan struct{})
}

func (c *Client) gone() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}
