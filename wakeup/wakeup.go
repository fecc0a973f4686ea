package wakeup

import (
	"errors"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
)

// Mounts says which mount is nearest; *config.Live does.
type Mounts interface {
	Mount(at scope.Path) (config.Mount, bool)
}

// Wakeup rings hosts and rules claims.
type Wakeup struct{}

var errProvisional = errors.New("not built yet")

// New listens to the registry's ring. Close ends that.
func New(r *registry.Registry, mounts Mounts) *Wakeup { return &Wakeup{} }

// Claim claims under the rules of the owner's nearest mount.
func (w *Wakeup) Claim(h registry.Handle, reason string, take bool, by registry.Host) (registry.Claim, error) {
	return registry.Claim{}, errProvisional
}

// Budget says how many wakes the owner has left; 0 where no mount serves it.
func (w *Wakeup) Budget(h registry.Handle) int64 { return 0 }

// Reconsider rings all owners that have notices waiting and are served: call
// it after mounts or their settings changed.
func (w *Wakeup) Reconsider() {}

// Close stops ringing.
func (w *Wakeup) Close() {}
