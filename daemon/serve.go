package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"sidetask/rpc/server"
)

// serve is the daemon's life. It returns when everything is closed; next is
// the program that is to replace this one, or nil.
func (d *daemon) serve(ctx context.Context, socket *socket) (next *successor, err error) {
	signals := make(chan os.Signal, 8)
	// SIGPIPE: a supervisor that closes our output must not end us. SIGHUP is a
	// reload, also while we stop. Notify also resets what was ignored when we
	// were started (nohup), so that no task inherits it.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGQUIT)
	defer signal.Stop(signals)

	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { d.watchConfig(running) })
	select { // whoever is served relies on a save being seen
	case <-d.live.Watching():
	case <-running.Done():
	}
	accepted := make(chan error, 1)
	group.Go(func() { accepted <- d.server.Serve(socket.listener()) })
	guarding, unguard := context.WithCancel(running)
	unguarded := make(chan struct{})
	group.Go(func() {
		defer close(unguarded)
		d.guard(guarding, socket, func(another *net.UnixListener) {
			group.Go(func() { _ = d.server.Serve(another) }) // ends when the server is closed
		})
	})
	group.Go(func() { d.guardState(running) })
	group.Go(func() { d.maintain(running) })
	group.Go(func() { d.watchdog(running, socket) })
	d.sayServing(true)
	d.announce()

	end := d.await(ctx, signals, accepted)
	d.sayServing(false)
	unguard()
	<-unguarded
	if _, err := d.state.mend(closely); err != nil && !errors.Is(err, errYielded) {
		d.log.Error("tasks are lost", "error", err)
	}
	if end.next != "" {
		file, err := socket.listener().File() // before the server closes its own
		if err != nil {
			end = end.failed(err)
		} else {
			next = &successor{executable: end.next, socket: file}
		}
	}
	if next == nil && end.err == nil {
		d.leaves = socket
	}
	err = d.closeSupervised(ctx, end)
	stop()
	group.Wait()
	return next, errors.Join(end.err, err)
}

// sayServing says in the lock file whether clients may expect an answer.
func (d *daemon) sayServing(serving bool) {
	if err := d.state.say(serving); err != nil {
		d.log.Warn("the lock file does not say how this daemon is", "error", err)
	}
}

// end is how a life ends.
type end struct {
	cancel bool   // live tasks are cancelled
	next   string // program to go on as
	err    error
}

// failed is the end when it cannot be the one that was wanted: a supervisor, or
// the next client, starts the daemon again.
func (e end) failed(err error) end {
	return end{cancel: e.cancel, err: errors.Join(e.err, err)}
}

// await returns when it is time to end.
func (d *daemon) await(ctx context.Context, signals <-chan os.Signal, accepted <-chan error) end {
	idle := time.NewTimer(d.idleExit())
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return end{cancel: !d.KeepsTasks(nil)}
		case err := <-accepted:
			if errors.Is(err, server.ErrClosed) {
				err = nil
			}
			return end{cancel: !d.KeepsTasks(nil), err: err}
		case s := <-signals:
			switch s {
			case syscall.SIGHUP:
				ask(d.reloadNow)
			case syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT:
				d.log.Info("stopping", "signal", s.String())
				return end{cancel: !d.KeepsTasks(nil)}
			}
		case request := <-d.requests:
			return request
		case <-d.idleChanged:
			idle.Reset(d.idleExit())
		case <-idle.C:
			if d.idle() && d.registry.Retire() {
				d.log.Info("nothing to do for a while: ending; the next client starts a daemon again")
				return end{}
			}
			idle.Reset(d.idleExit())
		}
	}
}

// never is a time that does not come.
const never = 1 << 62 * time.Nanosecond

// firstClient is how long a daemon waits for the client that it was started for.
const firstClient = time.Minute

// idleExit is how long until it is worth a look whether there is nothing to do.
func (d *daemon) idleExit() time.Duration {
	ms := d.live.Current().Daemon.IdleExitMs
	if !d.options.Autostarted || ms == 0 {
		return never
	}
	return time.Duration(ms) * time.Millisecond
}

// idle says whether there has been no client and no live task since the last look.
// One that nobody has come to yet is not idle: the client may be slower than the
// shortest daemon.idleExitMs.
func (d *daemon) idle() bool {
	if d.server.Accepted() == 0 && time.Since(d.started) < firstClient {
		return false
	}
	counts := d.registry.Counts()
	busy := counts.Starting+counts.Running+counts.Stopping > 0 || d.process.Leftovers() > 0 || d.server.Connections() > 0
	served := d.server.Accepted()
	quiet := served == d.servedAtLook
	d.servedAtLook = served
	return !busy && quiet
}

// watchConfig follows the file until ctx ends.
func (d *daemon) watchConfig(ctx context.Context) {
	if err := d.live.Run(ctx); err != nil && ctx.Err() == nil {
		d.log.Error("the configuration is not watched any more; `sidetask daemon reload` still works", "error", err)
	}
}
