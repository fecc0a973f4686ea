package config

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"time"
)

// timing says how long to wait for a save to be complete.
type timing struct {
	quiet   time.Duration // nothing may have changed for this long
	most    time.Duration // but a stream of changes is looked at after this
	gone    time.Duration // a file that is absent, empty or behind a broken link is taken for that after this: a save may be about to bring the next one
	writing time.Duration // a file that somebody keeps open for writing is taken as it is after this
	poll    time.Duration // between two looks where nothing tells of changes
}

var usual = timing{
	quiet:   100 * time.Millisecond,
	most:    2 * time.Second,
	gone:    500 * time.Millisecond,
	writing: 10 * time.Second,
	poll:    250 * time.Millisecond,
}

// Reload loads the file now, whether it seems to have changed or not, and
// waits for the outcome: changed reports whether other settings are in force
// than before. A save in progress is waited for. The error is [Errors] where
// the file or a subscriber refused, else that of ctx; nothing has changed then.
func (l *Live) Reload(ctx context.Context) (changed bool, err error) {
	if err := l.take(ctx); err != nil {
		return false, err
	}
	defer l.pass()
	began := time.Now()
	for {
		c, again := l.look(time.Since(began))
		if again == 0 {
			return l.deal(c)
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// look reads the file. again > 0: it may be in the middle of a save, look
// again then. unchanged is how long nothing was seen to happen to it. The turn
// is held.
func (l *Live) look(unchanged time.Duration) (c content, again time.Duration) {
	c = read(l.path)
	switch {
	case c.busy && unchanged < l.timing.writing:
		return c, l.timing.quiet
	case (c.absent || c.astray || c.empty()) && unchanged < l.timing.gone && !c.same(l.seen):
		return c, min(l.timing.quiet, l.timing.gone-unchanged)
	}
	return c, 0
}

// deal puts what was read in force, or says why not. The turn is held.
func (l *Live) deal(c content) (changed bool, err error) {
	l.seen = c
	settings, origins, err := c.parse(l.path)
	if err == nil {
		changed, err = l.swap(settings, origins)
	}
	if err != nil {
		l.refused(err, !c.absent)
		return false, err
	}
	l.tell(func(s *State) {
		s.Present, s.Errors = !c.absent, []string{}
		if changed {
			s.Changed = time.Now()
		}
	})
	if changed {
		l.log.Info("configuration in force", "path", l.path, "present", !c.absent)
	}
	return changed, nil
}

// refused keeps and logs, once, why the file is not in force.
func (l *Live) refused(err error, present bool) {
	lines := []string{err.Error()}
	var all Errors
	if errors.As(err, &all) {
		lines = all.Lines()
	}
	told := false
	l.tell(func(s *State) {
		told = reflect.DeepEqual(s.Errors, lines)
		s.Present, s.Errors = present, lines
	})
	if !told {
		l.log.Error("configuration refused; the settings in force stay", "path", l.path, "errors", lines)
	}
}

// swap puts settings in force in one step, if every subscriber agrees. The
// turn is held.
func (l *Live) swap(next *Settings, origins Origins) (changed bool, err error) {
	old := l.Current()
	if old.equal(next) {
		// Nothing to ask or tell; but the lines may be others.
		l.mu.Lock()
		l.storeLocked(next, origins)
		l.mu.Unlock()
		return false, nil
	}
	asked := make(map[*subscriber]bool)
	for {
		l.mu.Lock()
		var fresh []*subscriber
		for _, s := range l.subscribers.entries {
			if !asked[s] {
				fresh = append(fresh, s)
			}
		}
		if len(fresh) == 0 { // nobody came meanwhile: all have agreed
			break
		}
		l.mu.Unlock()
		if err := l.ask(fresh, old, next); err != nil {
			return false, err
		}
		for _, s := range fresh {
			asked[s] = true
		}
	}
	before := l.now.Load()
	gone := l.storeLocked(next, origins)
	after, subscribers := l.now.Load(), l.subscribers.all()
	l.mu.Unlock()

	for _, s := range subscribers {
		if s.commit != nil {
			s.commit(old, next)
		}
	}
	tellLost(gone)
	if !maps.EqualFunc(before.mounts, after.mounts, Mount.equal) {
		l.changedMounts()
	}
	return true, nil
}

// ask gives all reasons for which subscribers refuse.
func (l *Live) ask(subscribers []*subscriber, old, next *Settings) error {
	var refusals Errors
	for _, s := range subscribers {
		if s.verify == nil {
			continue
		}
		if err := s.verify(old, next); err != nil {
			refusals = append(refusals, Error{File: l.path, Message: err.Error()})
		}
	}
	if len(refusals) > 0 {
		return refusals
	}
	return nil
}

// equal reports whether two settings mean the same, wherever they are written.
func (s *Settings) equal(o *Settings) bool {
	a, b := *s, *o
	a.Mounts, b.Mounts = nil, nil
	return reflect.DeepEqual(a, b) && maps.EqualFunc(s.Mounts, o.Mounts, Mount.equal)
}

func (m Mount) equal(o Mount) bool {
	m.ID, o.ID = "", ""
	m.Origin, o.Origin = "", ""
	return m == o
}
