package registry

// maxEnvironments bounds the environments of all owners together, in bytes: what
// the daemon keeps must be bounded however many sessions there are. A usual one
// has some KiB.
const maxEnvironments = 64 << 20

// envBytes counts as the system does: names, values, and two bytes for each.
func envBytes(env map[string]string) int64 {
	total := int64(0)
	for name, value := range env {
		total += int64(len(name) + len(value) + 2)
	}
	return total
}

// envRoomLocked refuses an environment for which there is no room beside those of
// the other owners; o is whose own it would replace, nil for a new owner.
func (r *Registry) envRoomLocked(o *owner, env map[string]string) error {
	total := r.environments + envBytes(env)
	if o != nil {
		total -= envBytes(o.env)
	}
	if len(env) == 0 || total <= maxEnvironments {
		return nil
	}
	return Errorf(KindLimitReached, "the environments of all owners would have %d bytes together, at most %d are kept; end sessions that are over (`sidetask owners` lists them), or give fewer variables", total, maxEnvironments)
}

// setEnvLocked replaces the environment of an owner.
func (r *Registry) setEnvLocked(o *owner, env map[string]string) {
	r.environments += envBytes(env) - envBytes(o.env)
	o.env = env
}
