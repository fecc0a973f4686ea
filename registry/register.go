package registry

import (
	"slices"
	"strconv"

	"sidetask/scope"
)

// Register makes the host the host of an owner, a new one or one that is known
// by its token or its session (API.md, owner/register). A live host of another
// connection is refused with another token, unless Takeover says otherwise: it
// hears Lost then, and the tokens of before are void. The owner's waiting
// notices ring nobody here: the caller tells their count.
func (r *Registry) Register(reg Registration, host Host) (Handle, error) {
	hash, err := hashToken(reg.Token)
	if err != nil {
		return "", err
	}
	if err := reg.check(); err != nil {
		return "", err
	}
	if reg.Scope == "" {
		reg.Scope = scope.Root
	}
	r.mu.Lock()
	defer r.unlock()
	if r.phase != open {
		return "", ErrShuttingDown
	}
	if err := r.envRoomLocked(r.namedLocked(hash, reg), reg.Env); err != nil {
		return "", err
	}
	o, err := r.knownLocked(hash, reg, host)
	if err != nil {
		return "", err
	}
	t := r.transitionLocked()
	next := OwnerRecord{Handle: Handle("o-" + strconv.FormatInt(r.nextOwner, 10))}
	if o != nil {
		next = o.OwnerRecord
	} else if len(r.owners) >= maxOwners {
		return "", Errorf(KindLimitReached, "%d owners are registered, and more would be too many; dispose those that are over", len(r.owners))
	} else {
		o = &owner{OwnerRecord: next}
		t.change.NextOwner = r.nextOwner + 1
		t.then(func() { r.addOwnerLocked(o) })
	}
	byToken := slices.Contains(next.Tokens, hash)
	if !byToken && o.outLocked(host, reg.Takeover) {
		r.voidLocked(t, next.Tokens)
		next.Tokens = nil
	}
	next.Tokens = withToken(next.Tokens, hash)
	next.Scope, next.Title, next.Cwd, next.LostAt = reg.Scope, reg.Title, reg.Cwd, 0
	if reg.Session != "" {
		next.Agent, next.Session = reg.Agent, reg.Session
	} else if next.Session == "" {
		next.Agent = reg.Agent
	}
	r.putNamedLocked(t, o, next)
	r.returnLeasesLocked(t, o, reg.Leases)
	if err := t.commit(); err != nil {
		return "", err
	}
	r.hostLocked(o, host)
	r.setEnvLocked(o, reg.Env)
	return o.Handle, nil
}

// namedLocked is the owner whose token or else whose name a registration has; nil
// for none.
func (r *Registry) namedLocked(hash [32]byte, reg Registration) *owner {
	if o := r.byTokenLocked(hash); o != nil || reg.Session == "" {
		return o
	}
	return r.names[name{reg.Agent, reg.Session}]
}

// knownLocked finds the owner that a registration means, nil for a new one.
func (r *Registry) knownLocked(hash [32]byte, reg Registration, host Host) (*owner, error) {
	if o := r.byTokenLocked(hash); o != nil {
		key := name{reg.Agent, reg.Session}
		switch {
		case o.disposed != nil:
			return nil, Errorf(KindOwnerGone, "owner %s is being disposed; register again when that is over", o.Handle)
		case reg.Session == "" || key == (name{o.Agent, o.Session}):
			return o, nil // its own token: never a takeover
		case o.Session != "":
			return nil, Errorf(KindUnauthorized, "this token belongs to session %q of %q, not to session %q of %q; make a new token", o.Session, o.Agent, reg.Session, reg.Agent)
		}
		known := r.names[key]
		if known == nil {
			return o, nil
		}
		// The daemon ended between the host's register and its bind: this is both.
		if err := known.takeableLocked(host, reg.Takeover); err != nil {
			return nil, err
		}
		return known, r.mergeLocked(known, o, host, reg.Takeover)
	}
	o := r.namedLocked(hash, reg)
	if o == nil {
		return nil, nil
	}
	return o, o.takeableLocked(host, reg.Takeover)
}

// takeableLocked says why a host may not have an owner that it has no token of.
func (o *owner) takeableLocked(host Host, takeover bool) error {
	switch {
	case o.disposed != nil:
		return Errorf(KindOwnerGone, "owner %s is being disposed; register again when that is over", o.Handle)
	case o.host == nil || o.host == host || takeover:
		return nil
	}
	return Errorf(KindUnauthorized, "session %q of %q has a live host; end that one, or ask for takeover", o.Session, o.Agent)
}

// outLocked reports whether the hosts of before are out, with their tokens, when
// another has the owner now. Takeover says so also of one that is away: after a
// restart of the daemon it may be the slower one to come back, and must not have
// the owner again with its token.
func (o *owner) outLocked(host Host, takeover bool) bool {
	return o.host != host && (o.host != nil || takeover)
}

// withToken adds a token; of too many the oldest go.
func withToken(tokens [][32]byte, hash [32]byte) [][32]byte {
	tokens = append(slices.DeleteFunc(slices.Clone(tokens), func(t [32]byte) bool { return t == hash }), hash)
	return tokens[max(0, len(tokens)-maxTokens):]
}

// putNamedLocked replaces what is kept of an owner and files its name and tokens.
func (r *Registry) putNamedLocked(t *transition, o *owner, next OwnerRecord) {
	before := o.OwnerRecord
	t.putOwner(o, next)
	t.then(func() {
		for _, hash := range before.Tokens {
			r.dropTokenLocked(hash)
		}
		for _, hash := range next.Tokens {
			r.dropTokenLocked(hash) // addOwnerLocked may have filed it, or it moves from another owner
			r.addTokenLocked(hash, o)
		}
		if key := (name{before.Agent, before.Session}); r.names[key] == o {
			delete(r.names, key)
		}
		if next.Session != "" {
			r.names[name{next.Agent, next.Session}] = o
		}
	})
}

// hostLocked gives an owner its host, or none; another that had it is out.
func (r *Registry) hostLocked(o *owner, host Host) {
	if before := o.host; before != nil && before != host {
		handle := o.Handle
		r.queue = append(r.queue, func() { before.Lost(handle) })
	}
	if o.host != host {
		o.status = Idle
	}
	o.host, o.lapsed = host, false
	if host == nil {
		r.lost[o.Handle] = o
	} else {
		delete(r.lost, o.Handle)
		signal(&r.arrivals)
	}
	r.armLocked()
}

// HostGone says that a connection ended: its owners are lost, their leases
// suspended; leases that it took of other owners come back. Call it for every
// connection that registered or claimed.
func (r *Registry) HostGone(host Host) {
	r.mu.Lock()
	defer r.unlock()
	if r.phase >= drained { // we end the connections; the next daemon starts with all hosts away
		return
	}
	t := r.transitionLocked()
	var lost []*owner
	for _, o := range r.agentsLocked() {
		if o.host == nil || o.host != host {
			continue
		}
		next := o.OwnerRecord
		next.LostAt = r.millis()
		t.putOwner(o, next)
		lost = append(lost, o)
	}
	if len(lost) > 0 {
		if err := t.commit(); err != nil {
			r.log.Error("the loss of a host could not be recorded", "error", err)
		}
	}
	for _, o := range lost {
		now := r.now()
		o.host, o.lostAt, o.awayAt, o.goneAt = nil, now, now, now
		r.setEnvLocked(o, nil) // the next host brings its own, and until then nothing is started
		r.lost[o.Handle] = o
		if o.LostAt == 0 {
			o.LostAt = r.millis()
		}
	}
	r.returnLentLocked(host)
	r.armLocked()
}
