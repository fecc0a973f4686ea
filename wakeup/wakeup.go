package wakeup

import (
	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
)

// Mounts says which mount is nearest at or above a scope, false where none is
// or the nearest table is disabled. *config.Live does.
type Mounts interface {
	Mount(at scope.Path) (config.Mount, bool)
}

// Wakeup rings hosts and rules claims. It holds no lock and no state: every
// question is answered by the registry and the mounts as they are now.
type Wakeup struct {
	registry *registry.Registry
	mounts   Mounts
	stop     func()
}

// New rings from now on whenever the registry says that a notice waits.
func New(r *registry.Registry, mounts Mounts) *Wakeup {
	w := &Wakeup{registry: r, mounts: mounts}
	w.stop = r.OnRing(w.ring)
	return w
}

// Close stops ringing.
func (w *Wakeup) Close() { w.stop() }

// ring tells the owner's host that notices wait. An owner that no mount serves
// is not rung: its notices wait until one does.
func (w *Wakeup) ring(h registry.Handle) {
	o, ok := w.registry.Owner(h)
	if !ok || o.Host == nil || o.Waiting == 0 {
		return
	}
	m, served := w.mounts.Mount(o.Scope)
	if !served {
		return
	}
	o.Host.Pending(o.Handle, o.Waiting+o.Parked, lane(o, m))
}

// The lanes of the bell; the same values as on the wire.
const (
	laneWake   = "wake"
	laneInject = "inject"
)

// lane says whether a wake claim would be given now, as far as the daemon
// knows (T162): the host decides, and the claim settles it.
func lane(o registry.Owner, m config.Mount) string {
	if m.CompletionDelivery == config.Wakeup && o.Status == registry.Idle && o.Spent < m.MaxConsecutiveWakes {
		return laneWake
	}
	return laneInject
}

// Claim claims the owner's notices under the rules of its nearest mount.
func (w *Wakeup) Claim(h registry.Handle, reason string, take bool, by registry.Host) (registry.Claim, error) {
	var rules registry.ClaimRules
	if o, ok := w.registry.Owner(h); ok {
		m, served := w.mounts.Mount(o.Scope)
		rules = registry.ClaimRules{
			Served:   served,
			Quiet:    m.CompletionDelivery == config.Quiet,
			MaxWakes: m.MaxConsecutiveWakes,
		}
	}
	return w.registry.Claim(h, reason, take, rules, by)
}

// Budget says how many wakes the owner has left; 0 where no mount serves it.
func (w *Wakeup) Budget(h registry.Handle) int64 {
	o, ok := w.registry.Owner(h)
	if !ok {
		return 0
	}
	m, served := w.mounts.Mount(o.Scope)
	if !served {
		return 0
	}
	return max(0, m.MaxConsecutiveWakes-o.Spent)
}

// Reconsider rings all owners that have notices waiting and are served: call
// it after mounts or their settings changed. A bell too many does no harm.
func (w *Wakeup) Reconsider() {
	for _, o := range w.registry.Owners() {
		w.ring(o.Handle)
	}
}
