package client_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"sidetask/rpc"
	"sidetask/rpc/client"
)

// keep makes a keeper that is closed with the test.
func keep(t *testing.T, o client.KeeperOptions) *client.Keeper {
	t.Helper()
	k := client.Keep(o)
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func get(t *testing.T, k *client.Keeper) <-chan error {
	done := make(chan error, 1)
	go func() { done <- k.Call(t.Context(), rpc.MethodTaskGet, rpc.TaskRef{ID: "bash-1"}, nil) }()
	return done
}

// The chat never notices: calls wait for the daemon to come back.
func TestKeeperComesBack(t *testing.T) {
	s := newScripted(t)
	connected := make(chan *client.Client, 10)
	k := keep(t, client.KeeperOptions{
		Options: client.Options{Socket: s.socket},
		OnConnect: func(_ context.Context, c *client.Client) error {
			connected <- c
			return nil
		},
	})
	p := s.accept()
	first := within(t, connected, "OnConnect")
	done := get(t, k)
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Fatal(err)
	}

	// The daemon goes, socket and all, and another comes later.
	_ = s.listener.Close()
	_ = p.conn.Close()
	within(t, first.Done(), "the end") // a call before that would be lost in the middle
	done = get(t, k)
	s.listen()
	p = s.accept()
	within(t, connected, "OnConnect")
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Fatal(err)
	}
}

// It may be there before the daemon, and before the socket's folder.
func TestKeeperWaitsForTheFirst(t *testing.T) {
	folder := filepath.Join(shortDir(t), "sidetask")
	s := &scripted{t: t, socket: filepath.Join(folder, "s")}
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: s.socket}})
	done := get(t, k)
	if k.Connected() {
		t.Error("connected to nothing")
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	s.listen()
	p := s.accept()
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Fatal(err)
	}
	if !k.Connected() {
		t.Error("not connected after a call")
	}
}

func TestKeeperCallGivesUpWithItsContext(t *testing.T) {
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: filepath.Join(shortDir(t), "none")}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- k.Call(ctx, rpc.MethodTaskGet, nil, nil) }()
	cancel()
	if err := within(t, done, "Call"); !errors.Is(err, client.ErrNoDaemon) && !errors.Is(err, context.Canceled) {
		t.Errorf("Call = %v, want to hear that there is no daemon", err)
	}
}

// -32007: the call was refused, so it is made again where it will be heard.
func TestKeeperRepeatsWhatADrainingDaemonRefused(t *testing.T) {
	s := newScripted(t)
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: s.socket}})
	p := s.accept()
	done := get(t, k)
	m := p.read("task/get")
	p.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":{"code":-32007,"message":"the daemon is shutting down"}}`)
	_ = p.conn.Close()
	p = s.accept()
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Error(err)
	}
}

// A call that was lost in the middle is the caller's to judge.
func TestKeeperLost(t *testing.T) {
	s := newScripted(t)
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: s.socket}})
	p := s.accept()
	done := get(t, k)
	p.read("task/get")
	_ = p.conn.Close()
	if err := within(t, done, "Call"); !errors.Is(err, client.ErrLost) {
		t.Errorf("Call = %v, want ErrLost", err)
	}
}

func TestKeeperOnConnectFails(t *testing.T) {
	s := newScripted(t)
	tries := 0
	k := keep(t, client.KeeperOptions{
		Options: client.Options{Socket: s.socket},
		OnConnect: func(context.Context, *client.Client) error {
			if tries++; tries == 1 {
				return errors.New("not yet")
			}
			return nil
		},
	})
	s.accept()
	done := get(t, k)
	p := s.accept()
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Error(err)
	}
}

// A keeper may begin with a connection that there is, and keeps on from there.
func TestKeeperFirst(t *testing.T) {
	s := newScripted(t)
	c, p := dial(t, s, client.Options{})
	k := keep(t, client.KeeperOptions{Options: client.Options{Socket: s.socket}, First: c})
	done := get(t, k)
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Fatal(err)
	}
	_ = p.conn.Close()
	within(t, c.Done(), "the end")
	done = get(t, k)
	p = s.accept()
	p.answer(p.read("task/get"), `{}`)
	if err := within(t, done, "Call"); err != nil {
		t.Fatal(err)
	}
}

// A daemon that is asked for when the connection has ended before it was usable is
// started: what was asked for is not here.
func TestKeeperStartsAfterAConnectionThatEndedEarly(t *testing.T) {
	dir, a := starter(t, "serve")
	s := &scripted{t: t, socket: filepath.Join(dir, "s")}
	s.listen()
	connected, ready := make(chan *client.Client, 2), make(chan struct{})
	k := keep(t, client.KeeperOptions{
		Options: client.Options{Socket: s.socket, Autostart: a},
		OnConnect: func(_ context.Context, c *client.Client) error {
			connected <- c
			<-ready
			return nil
		},
	})
	p := s.accept()
	c := within(t, connected, "OnConnect")
	_ = s.listener.Close()
	_ = p.conn.Close()
	within(t, c.Done(), "the end")
	k.Start()
	close(ready)
	if err := within(t, get(t, k), "Call"); err != nil {
		t.Error(err)
	}
	stop(t, dir)
}

// However early it is closed, nothing is left (goleak).
func TestKeeperFirstClosed(t *testing.T) {
	s := newScripted(t)
	c, _ := dial(t, s, client.Options{})
	k := client.Keep(client.KeeperOptions{Options: client.Options{Socket: s.socket}, First: c})
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	within(t, c.Done(), "the end")
}

func TestKeeperClosed(t *testing.T) {
	s := newScripted(t)
	k := client.Keep(client.KeeperOptions{Options: client.Options{Socket: s.socket}})
	p := s.accept()
	done := get(t, k)
	p.read("task/get")
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if err := within(t, done, "Call"); !errors.Is(err, client.ErrLost) {
		t.Errorf("Call = %v, want ErrLost", err)
	}
	if err := k.Call(t.Context(), rpc.MethodTaskGet, nil, nil); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Call after Close = %v, want net.ErrClosed", err)
	}
}
