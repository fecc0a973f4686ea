package acp

import (
	"context"
	"encoding/json"
	"sync"

	"sidetask/rpc/client"
)

// Over gives the way to the daemon over its socket. Handle of o is set here.
func Over(o client.Options) func(Hooks) Daemon {
	return func(h Hooks) Daemon {
		k := &watched{}
		o.Handle = func(ctx context.Context, _ *client.Client, method string, params json.RawMessage) (any, error) {
			return h.Handle(ctx, method, params)
		}
		k.Keeper = client.Keep(client.KeeperOptions{Options: o, Revive: true, OnConnect: func(ctx context.Context, c *client.Client) error {
			k.watchers.Wait() // that the last one is lost must be told before that there is a new one
			if err := h.Connected(ctx, c, c.Server().Server); err != nil {
				return err
			}
			k.watchers.Go(func() {
				<-c.Done()
				h.Lost()
			})
			return nil
		}})
		return k
	}
}

// watched is a keeper with the goroutines that tell of ended connections.
type watched struct {
	*client.Keeper
	watchers sync.WaitGroup
}

// Await waits for a connection.
func (k *watched) Await(ctx context.Context) error {
	_, err := k.Client(ctx)
	return err
}

// Close ends the connection and waits for all that belongs to it.
func (k *watched) Close() error {
	err := k.Keeper.Close()
	k.watchers.Wait()
	return err
}
