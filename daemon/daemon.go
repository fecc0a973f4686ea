package daemon

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"sidetask/config"
	"sidetask/paths"
	"sidetask/process"
	"sidetask/store"
	"sidetask/systemd"
)

// Options is what a daemon is started with.
type Options struct {
	Paths      paths.Paths
	Version    string
	Executable string // absolute; what a restart runs again
	Keeper     string // absolute; "" = sidetask-keeper beside Executable
	Log        io.Writer
	// Autostarted: nobody watches it, so it logs to a file of its own and ends
	// when it has had nothing to do for daemon.idleExitMs.
	Autostarted bool
	Service     *systemd.Service // nil without a service manager
	// Ready is called once, when the socket answers.
	Ready func(socket string)
}

// Run is the daemon: it returns when a signal or a client has stopped it and
// all that it holds is in order. The errors that it fails to start with are
// [config.Errors] (exit status 78), [*BusyError], or say themselves what to do.
func Run(ctx context.Context, o Options) (err error) {
	serving, restarted := false, os.Getenv(lockVariable) != ""
	defer func() {
		if err == nil || serving {
			return
		}
		if restarted && o.Autostarted {
			lament(o, err)
		}
		refuse(o.Service, err)
	}()
	if err := makeFolders(&o); err != nil {
		return err
	}
	locked, err := awaitLock(ctx, o)
	if err != nil {
		return err
	}
	defer locked.release()
	live, log, err := configure(&o)
	if err != nil {
		return err
	}
	defer log.close()

	d, err := build(o, live, log, locked)
	if err != nil {
		return err
	}
	socket, err := listen(o.Paths, o.Service)
	if err != nil {
		return errors.Join(err, d.close(ctx, false))
	}
	serving = true
	next, err := d.serve(ctx, socket)
	if err == nil && next != nil {
		err = d.replace(next, locked)
	}
	if err != nil {
		log.Error("the daemon ended", "error", err)
	}
	return err
}

// makeFolders makes what must be there before anything else, and resolves the
// keeper.
func makeFolders(o *Options) error {
	for _, dir := range []string{o.Paths.State, o.Paths.Runtime} {
		if err := paths.Private(dir); err != nil {
			return err
		}
	}
	o.Keeper = o.keeper()
	return process.FindKeeper(o.Keeper)
}

// Check says why [Run] with the same options could not start, as far as that can
// be seen beside a daemon that serves the same state. It changes nothing.
func Check(ctx context.Context, o Options) error {
	if _, _, err := config.Load(o.Paths.Config); err != nil {
		return err
	}
	if err := process.CheckKeeper(ctx, o.keeper()); err != nil {
		return err
	}
	return store.Check(o.Paths.Database())
}

// keeper is the path of the keeper.
func (o Options) keeper() string {
	if o.Keeper != "" {
		return o.Keeper
	}
	return filepath.Join(filepath.Dir(o.Executable), "sidetask-keeper")
}

// configure loads the settings and opens the log that they ask for.
func configure(o *Options) (*config.Live, *logger, error) {
	settings, _, err := config.Load(o.Paths.Config)
	if err != nil {
		return nil, nil, err // config.Errors: nothing is logged that the person is told anyway
	}
	var w io.WriteCloser = nopCloser{o.Log}
	if o.Autostarted {
		file, err := openLog(logPath(*o))
		if err != nil {
			return nil, nil, err
		}
		w = file
	}
	log := newLogger(w, !o.Autostarted && o.Service.Journal(), settings.Log)
	live, err := config.Open(o.Paths.Config, log.Logger)
	if err != nil {
		log.close()
		return nil, nil, err
	}
	log.follow(live.Current().Log)
	return live, log, nil
}

// lament logs why the successor of a daemon did not come up: it has no starter
// that hears of it, and no stderr.
func lament(o Options, cause error) {
	file, err := openLog(logPath(o))
	if err != nil {
		return // the state folder is gone, and with it the place to say so
	}
	log := newLogger(file, false, config.Log{Level: "info", Format: "auto"})
	defer log.close()
	log.Error("the daemon did not come up after its restart; tasks go on, and the next daemon has them", "error", cause)
}

// logPath is the log of a daemon that nobody watches.
func logPath(o Options) string { return filepath.Join(o.Paths.State, "daemon.log") }

// closeTime bounds what is left to do at the end: answers to write, drains.
const closeTime = 5 * time.Second

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
