package daemon

import (
	"context"
	"time"

	"sidetask/config"
	"sidetask/registry"
)

// retentionEvery is how often finished tasks are looked through.
const retentionEvery = 10 * time.Minute

// maintain does what may take a while beside the daemon's life, so that a
// signal to stop never waits for it. It ends with ctx.
func (d *daemon) maintain(ctx context.Context) {
	retention := time.NewTicker(retentionEvery)
	defer retention.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.reloadNow:
			d.reload(ctx)
		case <-retention.C:
			d.prune()
		case <-d.pruneNow:
			d.prune()
		}
	}
}

// reload is SIGHUP: the outcome goes to the log and to `status`.
func (d *daemon) reload(ctx context.Context) {
	_ = d.options.Service.Reloading()
	changed, err := d.live.Reload(ctx)
	if err == nil {
		d.log.Info("configuration loaded", "changed", changed)
	}
	_ = d.options.Service.Ready(d.statusLine())
}

// settingsChanged is called when new settings are in force.
func (d *daemon) settingsChanged(old, next *config.Settings) {
	d.log.follow(next.Log)
	d.registry.Rearm()
	d.wakeup.Reconsider()
	if old.Retention != next.Retention {
		ask(d.pruneNow)
	}
	if old.Daemon.IdleExitMs != next.Daemon.IdleExitMs {
		ask(d.idleChanged)
	}
}

// ask puts a wish into a channel of one; a wish that is there already is enough.
func ask(wish chan struct{}) {
	select {
	case wish <- struct{}{}:
	default:
	}
}

// prune applies [retention].
func (d *daemon) prune() {
	keep := d.live.Current().Retention
	day := 24 * time.Hour
	removed, freed, err := d.registry.Prune(registry.Retention{
		Age: time.Duration(keep.Days) * day, Tasks: keep.Tasks, Bytes: keep.Bytes, Lost: time.Duration(keep.Days) * day,
	})
	if err != nil {
		d.log.Warn("old tasks could not be removed; trying again later", "error", err)
	}
	if removed > 0 {
		d.log.Info("removed old tasks", "tasks", removed, "bytes", freed)
	}
}
