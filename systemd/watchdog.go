package systemd

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// watchdogInterval is how long the manager waits for a sign of life before it
// ends this service; 0 = it does not.
func (s *Service) watchdogInterval() time.Duration {
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
	interval := s.watchdogInterval()
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
			err = s.alive()
		}
		if err != nil {
			log.Error("the watchdog was not fed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const (
	// prolongBy is how much more time is asked for, and prolongEvery how often:
	// two may be late before the manager loses its patience.
	prolongBy    = 15 * time.Second
	prolongEvery = 5 * time.Second
	// prolongMost is when it is taken for a hang after all.
	prolongMost = 10 * time.Minute
)

// Prolong asks for more time, at once and again and again, until ctx ends: for
// a start that has much to recover and a stop that waits for tasks to end. In a
// restart in place the watchdog runs on meanwhile, and is fed, too. After ten minutes it
// gives up. The caller owns the goroutine that it runs in.
func (s *Service) Prolong(ctx context.Context, log *slog.Logger) {
	if s == nil || s.notify == "" {
		return
	}
	every := prolongEvery
	if s.watchdog > 0 {
		every = min(every, s.watchdog/3)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < prolongMost; {
		if err := errors.Join(s.extend(prolongBy), s.alive()); err != nil {
			log.Warn("no more time could be asked for", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	log.Error("this takes too long: the service manager is not asked for more time", "after", prolongMost)
}
