package config

import (
	"errors"
	"fmt"
	"slices"

	"sidetask/scope"
)

// maxAttached bounds the mounts of connections.
const maxAttached = 256

// attachment is one mount of a connection.
type attachment struct {
	id   string
	at   scope.Path
	said map[string]effective
	lost func(reason string)
}

// Attach places a mount of a connection. It inherits from the nearest table
// above, and is refused where an enabled one stands and where its default
// exceeds its cap. lost (may be nil) is called at most once, with the reason, when a
// reload or the end of a mount above takes it away; not by detach. detach is
// idempotent.
func (l *Live) Attach(at scope.Path, o Overrides, lost func(reason string)) (id string, detach func(), err error) {
	said, err := o.said(at)
	if err != nil {
		return "", nil, err
	}
	a := &attachment{at: at, said: said, lost: lost}
	if err := l.attach(a); err != nil {
		return "", nil, err
	}
	l.changedMounts()
	return a.id, func() { l.detach(a) }, nil
}

func (l *Live) attach(a *attachment) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now.Load()
	if m, ok := now.mounts[a.at]; ok && m.Enabled {
		return fmt.Errorf("a mount stands at %q already (%s)", a.at, m.Origin)
	}
	if len(l.attached) >= maxAttached {
		return fmt.Errorf("%d mounts of connections are attached: no more are possible", maxAttached)
	}
	a.id = fmt.Sprintf("m-%d", l.attachments+1)
	next, gone := combine(now.settings, now.origins, append(slices.Clone(l.attached), a))
	if len(gone) > 0 {
		// A new mount changes what those below it inherit: it may not cost
		// another connection its mount.
		return errors.New(gone[0].reason)
	}
	l.attachments++
	l.attached = append(l.attached, a)
	l.now.Store(next)
	return nil
}

func (l *Live) detach(a *attachment) {
	l.mu.Lock()
	i := slices.Index(l.attached, a)
	if i < 0 {
		l.mu.Unlock()
		return
	}
	l.attached = slices.Delete(l.attached, i, i+1)
	now := l.now.Load()
	gone := l.storeLocked(now.settings, now.origins)
	l.mu.Unlock()
	tellLost(gone)
	l.changedMounts()
}

// storeLocked puts settings in force together with the attached mounts that
// can stand with them; the others are taken out and returned. l.mu is held.
func (l *Live) storeLocked(s *Settings, origins Origins) (gone []loss) {
	next, gone := combine(s, origins, l.attached)
	for _, g := range gone {
		l.attached = slices.DeleteFunc(l.attached, func(a *attachment) bool { return a == g.attachment })
	}
	l.now.Store(next)
	return gone
}

func tellLost(gone []loss) {
	for _, g := range gone {
		if g.attachment.lost != nil {
			g.attachment.lost(g.reason)
		}
	}
}
