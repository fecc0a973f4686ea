package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidetask/config"
	"sidetask/process"
	"sidetask/producer"
	"sidetask/registry"
	"sidetask/rpc/server"
	"sidetask/scope"
	"sidetask/store"
	"sidetask/tools"
	"sidetask/wakeup"
)

// daemon is all rooms, wired.
type daemon struct {
	options  Options
	started  time.Time
	live     *config.Live
	log      *logger
	registry *registry.Registry
	process  *process.Producer
	outside  *producer.Outside
	wakeup   *wakeup.Wakeup
	server   *server.Server
	cancel   []func() // subscriptions of ours
	leaves   *socket  // what close takes away; nil for a restart and a failure
	state    *state

	requests     chan end      // of clients: stop, restart
	reloadNow    chan struct{} // SIGHUP came
	pruneNow     chan struct{} // retention was changed
	idleChanged  chan struct{} // idleExitMs was changed
	servedAtLook int64         // connections accepted when idle last looked; await's own
}

// build opens the state, brings it up to date with what happened meanwhile,
// and wires everything but the socket.
func build(o Options, live *config.Live, log *logger, locked *lock) (d *daemon, err error) {
	d = &daemon{
		options: o, started: time.Now(), live: live, log: log,
		requests: make(chan end, 1), reloadNow: make(chan struct{}, 1), pruneNow: make(chan struct{}, 1),
		idleChanged: make(chan struct{}, 1),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close(context.Background(), false))
		}
	}()
	if err := d.openRegistry(locked); err != nil {
		return d, err
	}
	if err := d.openProducers(); err != nil {
		return d, err
	}
	d.wakeup = wakeup.New(d.registry, live)
	model := tools.New(tools.Options{Registry: d.registry, Live: live, Commands: commands{d.process}})
	d.server = server.New(server.Engine{
		Registry: d.registry, Wakeup: d.wakeup, Tools: model, Outside: d.outside, Live: live, Daemon: d,
		Version: o.Version, Log: log.Logger,
	})
	_, cancel := live.Subscribe(nil, d.settingsChanged)
	d.cancel = append(d.cancel, cancel, live.OnMounts(d.wakeup.Reconsider), d.registry.OnDone(scope.Root, d.noteEnd))
	d.prune()
	return d, nil
}

func (d *daemon) openRegistry(locked *lock) error {
	kept, err := store.Open(d.options.Paths.Database())
	if err != nil {
		return err
	}
	d.registry, err = registry.Open(registry.Options{
		Store: kept,
		Log:   d.log.Logger,
		Limit: func() int64 { return d.live.Current().Limits.MaxConcurrentTasksPerOwner },
		Serves: func(at scope.Path) bool {
			_, ok := d.live.Mount(at)
			return ok
		},
		Grace: func() registry.Grace {
			s := d.live.Current()
			return registry.Grace{Owner: milliseconds(s.Owners.GraceMs), Stop: milliseconds(s.Commands.StopGraceMs)}
		},
	})
	if err != nil {
		return errors.Join(fmt.Errorf("open the records of tasks: %w", err), kept.Close())
	}
	d.state = &state{paths: d.options.Paths, registry: d.registry, warn: d.log.Warn, locked: locked, kept: kept}
	return nil
}

// openProducers opens both producers and has them say what became of their
// tasks while no daemon ran.
func (d *daemon) openProducers() (err error) {
	d.process, err = process.Open(process.Options{
		Registry: d.registry, Paths: d.options.Paths, Keeper: d.options.Keeper, Socket: d.options.Paths.Socket,
		Settings: d.commandSettings, Groups: d.openGroups(), Log: d.log.Logger,
	})
	if err != nil {
		return err
	}
	d.registry.AddProducer(process.Name, d.process)
	d.outside, err = producer.Open(producer.Options{
		Registry: d.registry, Paths: d.options.Paths, Log: d.log.Logger,
		Settings: func() producer.Settings {
			s := d.live.Current()
			return producer.Settings{
				Grace: milliseconds(s.Owners.ProducerGraceMs), Spool: s.Commands.SpoolBytes, SpoolHead: s.Commands.KeepHeadBytes,
			}
		},
	})
	if err != nil {
		return err
	}
	return d.prolonged(func() error { return errors.Join(d.process.Recover(), d.outside.Recover()) })
}

func (d *daemon) commandSettings() process.Settings {
	c := d.live.Current().Commands
	return process.Settings{
		Shell: c.Shell, SpoolBytes: c.SpoolBytes, KeepHeadBytes: c.KeepHeadBytes,
		StopGraceMs: c.StopGraceMs, CleanOutput: c.CleanOutput, TimeoutMs: c.TimeoutMs,
	}
}

// commands lets tools start commands without knowing processes.
type commands struct{ producer *process.Producer }

func (c commands) Start(ctx context.Context, by registry.Caller, spec tools.Command) (registry.Task, error) {
	return c.producer.Start(ctx, by, process.Spec{
		Command: spec.Command, Label: spec.Label, Cwd: spec.Cwd, Env: spec.Env, OutputLimit: spec.OutputLimit,
		TimeoutMs: spec.TimeoutMs, PTYCols: spec.PTYCols, PTYRows: spec.PTYRows, Stdin: spec.Stdin, Separate: spec.Separate,
		Shared: spec.Shared, Key: spec.Key,
	})
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// close ends everything that build opened, whatever of it is there. Live tasks
// are cancelled and waited for, or left to their keepers. Each room is open as
// long as another may call it: answers that go out last make reports and
// cursors final, which must be recorded, or they come again.
func (d *daemon) close(ctx context.Context, cancelTasks bool) error {
	for _, cancel := range d.cancel {
		cancel()
	}
	var errs []error
	if d.registry != nil {
		d.registry.Shutdown(context.WithoutCancel(ctx), cancelTasks)
	}
	if cancelTasks && d.server != nil {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		d.server.Farewell(bounded)
	}
	if d.leaves != nil {
		// Before the first connection ends: who loses one and finds the socket
		// still there takes us for crashed and starts another daemon.
		errs = append(errs, d.leaves.remove())
	}
	if d.server != nil {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		errs = append(errs, d.server.Close(bounded))
	}
	if d.wakeup != nil {
		d.wakeup.Close()
	}
	if d.outside != nil {
		errs = append(errs, d.outside.Close())
	}
	if d.process != nil {
		errs = append(errs, d.process.Close())
	}
	if d.registry != nil {
		errs = append(errs, d.registry.Close())
	}
	return errors.Join(errs...)
}
