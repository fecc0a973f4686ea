package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"sidetask/registry"
	"sidetask/rpc"
)

// seat is a proxy's end of the way to the daemon, as a keeper has it: it
// connects whenever there is a daemon, and registers first.
type seat struct {
	rooms *rooms
	hooks Hooks
	work  sync.WaitGroup

	mu      sync.Mutex // guards all below
	line    *line      // nil without a connection
	changed chan struct{}
	hang    hanging
	bound   bool     // it has had its session
	calls   []string // since the last look
}

// hanging is how a slow daemon is slow.
type hanging int

const (
	prompt    hanging = iota
	before            // a call is not begun
	afterward         // it is done, but the answer does not come
)

// line is one connection.
type line struct {
	seat   *seat
	ctx    context.Context
	end    context.CancelFunc
	known  chan struct{} // closed when the owners are registered, or that has failed
	failed bool          // set before known is closed
	quick  chan struct{} // closed when the slow daemon is quick again
}

func (s *seat) connect(h Hooks) Daemon {
	s.hooks = h
	if s.rooms.r != nil {
		s.open()
	}
	return s
}

// open makes a connection.
func (s *seat) open() {
	l := &line{seat: s, known: make(chan struct{}), quick: make(chan struct{})}
	l.ctx, l.end = context.WithCancel(context.Background())
	s.mu.Lock()
	s.line = l
	s.calls = append(s.calls, "open")
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.work.Go(func() {
		defer close(l.known)
		l.failed = s.hooks.Connected(l.ctx, l, rpc.Peer{Name: "sidetask", Version: "1.2.3"}) != nil
	})
}

// cut ends the connection; tell: the proxy lives and hears of it.
func (s *seat) cut(tell bool) {
	s.mu.Lock()
	l := s.line
	s.line = nil
	s.mu.Unlock()
	if l == nil {
		return
	}
	s.note("cut", nil, tell, nil)
	l.end()
	if s.rooms.r != nil {
		s.rooms.r.HostGone(l)
	}
	if tell {
		s.work.Go(func() {
			if <-l.known; !l.failed {
				s.hooks.Lost()
			}
		})
	}
}

// slow makes the daemon slow, or quick again.
func (s *seat) slow(how hanging) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hang = how
	if how == prompt && s.line != nil {
		close(s.line.quick)
		s.line.quick = make(chan struct{})
	}
}

func (s *seat) Start() {}

func (s *seat) Await(ctx context.Context) error {
	_, err := s.usable(ctx)
	return err
}

func (s *seat) usable(ctx context.Context) (*line, error) {
	for {
		s.mu.Lock()
		l, changed := s.line, s.changed
		s.mu.Unlock()
		if l != nil {
			select {
			case <-l.known:
				return l, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *seat) Call(ctx context.Context, method string, params, result any) error {
	l, err := s.usable(ctx)
	if err != nil {
		return err
	}
	return l.Call(ctx, method, params, result)
}

func (s *seat) Close() error {
	s.cut(false)
	s.work.Wait()
	return nil
}

// Call makes a call on the connection at hand.
func (l *line) Call(ctx context.Context, method string, params, result any) error {
	if err := l.wait(ctx, before); err != nil {
		return err
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	got, err := l.seat.rooms.act(l, method, raw)
	l.seat.note(method, raw, got, err)
	if err := l.wait(ctx, afterward); err != nil {
		return err
	}
	if err != nil {
		return wireError(err)
	}
	if raw, err = json.Marshal(got); err != nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

// note keeps a call for the log.
func (s *seat) note(method string, params []byte, got any, err error) {
	answer, _ := json.Marshal(got)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bound = s.bound || method == rpc.MethodOwnerBind && err == nil
	s.calls = append(s.calls, fmt.Sprintf("%s %s -> %s %v", method, params, answer, err))
}

func (s *seat) takeCalls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

// wait waits while the daemon is slow in that way, and as long as there is one.
func (l *line) wait(ctx context.Context, where hanging) error {
	l.seat.mu.Lock()
	hangs, quick := l.seat.hang == where, l.quick
	l.seat.mu.Unlock()
	if !hangs {
		quick = closed
	}
	select {
	case <-l.ctx.Done():
	case <-quick:
	case <-ctx.Done():
		return ctx.Err()
	}
	if l.ctx.Err() != nil {
		return errLost
	}
	return nil
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// wireError is how an error of the registry comes to a client.
func wireError(err error) error {
	var known *registry.Error
	if errors.As(err, &known) {
		return rpc.Errorf(rpc.CodeUnauthorized, "%s", known.Message)
	}
	return err
}

// Pending rings (registry.Host).
func (l *line) Pending(owner registry.Handle, count int, lane string) {
	l.tell(rpc.NotifyInboxPending, rpc.InboxPending{Owner: string(owner), Count: count, Lane: lane})
}

// Lost says that another proxy has the owner (registry.Host).
func (l *line) Lost(owner registry.Handle) {
	l.tell(rpc.NotifyOwnerLost, rpc.OwnerLost{Owner: string(owner)})
}

func (l *line) tell(method string, params any) {
	raw, err := json.Marshal(params)
	if err != nil || l.ctx.Err() != nil {
		return
	}
	l.seat.work.Go(func() { _, _ = l.seat.hooks.Handle(l.ctx, method, raw) })
}
