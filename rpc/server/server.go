package server

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"sidetask/config"
	"sidetask/rpc"
)

// ErrClosed is what Serve returns after Close.
var ErrClosed = errors.New("server closed")

// Bounds of what a connection may have (API.md: nothing that a client sends
// may grow the daemon's memory without bound).
const (
	// slowClient is how long a client may take nothing while something waits for
	// it, and how long an unfinished message of its may stand still.
	slowClient = 30 * time.Second
	// maxPendingBytes of requests (or one) are read ahead; then reading pauses.
	maxPendingBytes = 1 << 20
	// callBytes is what a request costs beside its text: a client may send a great
	// many very short ones, and what is no request at all has an answer, too.
	callBytes = 512
	// maxHeld bounds subscriptions, policies and mounts together of one connection.
	maxHeld = 256
	// maxHosted bounds the owners of one connection.
	maxHosted = 4096
)

// Server answers the socket. It is made with New, and fed with Serve.
type Server struct {
	engine  Engine
	methods map[string]method
	names   []string // of the methods
	log     *slog.Logger
	slow    time.Duration
	limits  func() config.Limits // asked at each use
	gone    func(*conn)          // told when a connection has ended

	large  chan struct{} // a place for each unfinished large message
	pieces sync.Pool     // see reception.pool
	done   chan struct{} // closed by Close

	mu        sync.Mutex // guards all below
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	accepted  int64
	policies  int64 // given out so far
	closed    bool
	wg        sync.WaitGroup // connections and nothing else
}

// New makes a server for an engine whose fields are all set.
func New(engine Engine) *Server {
	if engine.Log == nil {
		engine.Log = slog.New(slog.DiscardHandler)
	}
	s := newServer(methods(), func() config.Limits { return engine.Live.Current().Limits }, engine.Log)
	s.engine = engine
	s.gone = func(c *conn) {
		engine.Outside.ConnGone(c)
		engine.Registry.HostGone(c)
	}
	return s
}

// newServer is the wire without what is behind it.
func newServer(methods map[string]method, limits func() config.Limits, log *slog.Logger) *Server {
	return &Server{
		methods: methods, names: slices.Sorted(maps.Keys(methods)), log: log, slow: slowClient, limits: limits, gone: func(*conn) {},
		large: make(chan struct{}, maxLarge), done: make(chan struct{}),
		listeners: make(map[net.Listener]struct{}), conns: make(map[*conn]struct{}),
	}
}

// Serve accepts connections until Close, then returns [ErrClosed]. It takes
// the listener over; several may be served.
func (s *Server) Serve(listener *net.UnixListener) error {
	if !s.keepListener(listener) {
		_ = listener.Close()
		return ErrClosed
	}
	wait := time.Duration(0)
	for {
		nc, err := listener.AcceptUnix()
		if err == nil {
			wait = 0
			s.accept(nc)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return ErrClosed
		}
		// Out of descriptors or memory: both pass. Accepting again at once would spin.
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		s.log.Warn("cannot accept a connection; trying again", "error", err, "in", wait)
		select {
		case <-time.After(wait):
		case <-s.done:
			return ErrClosed
		}
	}
}

func (s *Server) keepListener(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

// accept lets a peer in if it is of our uid or root, before a byte is read.
func (s *Server) accept(nc *net.UnixConn) {
	peer, err := peerOf(nc)
	if err != nil || !admits(peer) {
		s.log.Warn("refused a connection of another user", "uid", peer.uid, "error", err)
		_ = nc.Close()
		return
	}
	limit := s.limits().MaxConnections
	s.mu.Lock()
	if s.closed || int64(len(s.conns)) >= limit {
		closed := s.closed
		s.mu.Unlock()
		if !closed {
			s.refuse(nc, rpc.Errorf(rpc.CodeLimitReached, "too many connections (limit: %d); close one, or raise limits.maxConnections", limit))
		}
		_ = nc.Close()
		return
	}
	c := newConn(s, nc, peer)
	s.conns[c] = struct{}{}
	s.accepted++
	s.wg.Add(1)
	s.mu.Unlock()
	go func() { // ends with the connection; Close waits for it
		defer s.wg.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
}

// admits lets in the daemon's own user and root.
func admits(peer credentials) bool { return peer.uid == os.Getuid() || peer.uid == 0 }

// refuse tells a client that is not served why. The line fits into the empty
// buffer of a fresh socket.
func (s *Server) refuse(nc net.Conn, reason *rpc.Error) {
	line, err := encode(response{JSONRPC: "2.0", ID: []byte("null"), Error: reason})
	if err == nil && nc.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
		_, _ = nc.Write(line)
	}
}

func (s *Server) nextPolicy() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies++
	return "p-" + strconv.FormatInt(s.policies, 10)
}

// Clients tells who is connected, for daemon/status.
func (s *Server) Clients() []rpc.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	clients := make([]rpc.Client, 0, len(s.conns))
	for c := range s.conns {
		clients = append(clients, c.describe())
	}
	return clients
}

// Connections is how many clients are connected.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Accepted is how many clients have ever been let in.
func (s *Server) Accepted() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// ending reports whether the daemon has begun to end: its registry first, then
// the server.
func (s *Server) ending() bool {
	select {
	case <-s.done:
		return true
	default:
		return s.engine.Registry != nil && s.engine.Registry.Ending()
	}
}

// Close ends the listeners and the connections and waits for all of them.
// Calls that are open have their waits aborted; answers that are ready go out
// as long as ctx lasts.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if !s.closed {
		close(s.done)
	}
	s.closed = true
	for l := range s.listeners {
		_ = l.Close()
	}
	for c := range s.conns {
		c.end(ctx)
	}
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}
