package daemon

import (
	"context"

	"sidetask/config"
	"sidetask/systemd"
)

// groups gives commands their control groups, with the limits that [commands]
// asks for at that moment.
type groups struct {
	made *systemd.Groups // nil: this daemon has none to give, and refuses limits
	live *config.Live
}

// openGroups looks whether the manager delegated a control group to this daemon,
// and takes its place in it.
func (d *daemon) openGroups() groups {
	made, err := d.options.Service.OpenGroups()
	if err != nil && d.options.Service.Supervised() {
		d.log.Warn("commands get no control groups of their own", "error", err)
	}
	return groups{made, d.live}
}

// Open makes the group of one command; see [process.Groups].
func (g groups) Open(ctx context.Context, name string) (dir string, done func(), err error) {
	c := g.live.Current().Commands
	return g.made.Open(ctx, name, systemd.Limits{Memory: c.MemoryBytes(), CPU: c.CPUPercent(), PIDs: c.PidsMax})
}
