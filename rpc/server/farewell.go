package server

import (
	"context"
	"sync"
	"time"

	"sidetask/rpc"
)

// quietTime is how long a client that has watched tasks may ask nothing before it
// counts as having heard all it wants.
const quietTime = 2 * time.Second

// Farewell lets those who follow or await tasks hear how these have ended, before
// Close ends the connections: what they hear is spread over several calls (the last
// output, that it was the last, the end), and one that is cut off between two of
// them would wait for a daemon that nobody starts. It returns when each has gone,
// or asks nothing any more, or when ctx ends.
func (s *Server) Farewell(ctx context.Context) {
	s.mu.Lock()
	var watchers sync.WaitGroup
	for c := range s.conns {
		watchers.Go(func() { c.farewell(ctx) })
	}
	s.mu.Unlock()
	watchers.Wait()
}

func (c *conn) farewell(ctx context.Context) {
	for {
		c.mu.Lock()
		watches, changed := c.watches, c.changed
		c.mu.Unlock()
		if !watches {
			return
		}
		quiet := time.NewTimer(quietTime)
		select {
		case <-changed:
			quiet.Stop()
		case <-quiet.C:
			return
		case <-c.ctx.Done():
			quiet.Stop()
			return
		case <-ctx.Done():
			quiet.Stop()
			return
		}
	}
}

// watch notes that the client waits for a task, follows one, or may be about to,
// as who starts one or looks at it. An agent, which has a token, has its notices.
func (c *conn) watch(as rpc.As) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches = c.watches || c.token == "" && as.Token == ""
}
