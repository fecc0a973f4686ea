package systemd

import (
	"context"
	"log/slog"
	"time"
)

// WatchdogInterval is how long the manager waits for a sign of life before it
// ends this service; 0 = it does not.
func (s *Service) WatchdogInterval() time.Duration {
	if s == nil {
		return 0
	}
	return s.watchdog
}

// Watch feeds the watchdog until ctx ends, at a third of the interval, each
// time only if healthy says nil in time. A daemon that hangs is therefore
// restarted even while its timers run. It returns at once where there is no
// watchdog. The caller owns the goroutine that it runs in.
//
// healthy must honour its context, and must not be called again while it runs:
// one that never returns is what a hang is.
func (s *Service) Watch(ctx context.Context, log *slog.Logger, healthy func(context.Context) error) {
	interval := s.WatchdogInterval()
	if interval == 0 {
		return
	}
	tick := time.NewTicker(interval / 3)
	defer tick.Stop()
	for {
		check, cancel := context.WithTimeout(ctx, interval)
		err := healthy(check)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = s.Alive()
		}
		if err != nil {
			log.Error("the watchdog was not fed", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
