package registry

import (
	"context"
	"crypto/subtle"
	"slices"
	"strings"
	"time"
)

// maxTaken bounds the void tokens that are remembered.
const maxTaken = 1024

// hostWait is how long a call waits for its owner's host to be there (API.md,
// ownerGone).
const hostWait = 5 * time.Second

// name is what an owner is known by.
type name struct{ agent, session string }

// tokenPrefix picks the few hashes that a token is then compared with, each in
// constant time.
type tokenPrefix [8]byte

type tokenEntry struct {
	hash  [32]byte
	owner *owner
}

func (r *Registry) addTokenLocked(hash [32]byte, o *owner) {
	prefix := tokenPrefix(hash[:8])
	r.tokens[prefix] = append(r.tokens[prefix], tokenEntry{hash, o})
}

func (r *Registry) dropTokenLocked(hash [32]byte) {
	prefix := tokenPrefix(hash[:8])
	rest := slices.DeleteFunc(r.tokens[prefix], func(e tokenEntry) bool { return e.hash == hash })
	if len(rest) == 0 {
		delete(r.tokens, prefix)
		return
	}
	r.tokens[prefix] = rest
}

// byTokenLocked is the owner of a token, or nil.
func (r *Registry) byTokenLocked(hash [32]byte) *owner {
	var found *owner
	for _, e := range r.tokens[tokenPrefix(hash[:8])] {
		if subtle.ConstantTimeCompare(e.hash[:], hash[:]) == 1 {
			found = e.owner
		}
	}
	return found
}

// voidLocked remembers tokens of an owner that was taken over: to who still has one
// it is said that waiting is no use. The next daemon does not know it any more.
func (r *Registry) voidLocked(t *transition, hashes [][32]byte) {
	t.then(func() {
		r.taken = append(r.taken, hashes...)
		r.taken = slices.Delete(r.taken, 0, max(0, len(r.taken)-maxTaken))
	})
}

// ByToken finds an owner at once, with a host or without.
func (r *Registry) ByToken(token string) (Handle, error) {
	hash, err := hashToken(token)
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.byTokenLocked(hash); o != nil {
		return o.Handle, nil
	}
	if slices.Contains(r.taken, hash) {
		return "", takenOver()
	}
	return "", ErrOwnerGone
}

// AwaitToken finds an owner that has a host, waiting up to 5 s for that. A token
// that was taken over comes back to nobody.
func (r *Registry) AwaitToken(ctx context.Context, token string) (Handle, error) {
	hash, err := hashToken(token)
	if err != nil {
		return "", err
	}
	timeout := time.NewTimer(hostWait)
	defer timeout.Stop()
	for {
		r.mu.Lock()
		o := r.byTokenLocked(hash)
		if o != nil && o.host != nil && o.disposed == nil {
			r.mu.Unlock()
			return o.Handle, nil
		}
		arrival, phase := await(&r.arrivals), r.phase
		taken := o == nil && slices.Contains(r.taken, hash)
		r.mu.Unlock()
		switch {
		case phase != open:
			return "", ErrShuttingDown
		case taken:
			return "", takenOver()
		}
		select {
		case <-arrival:
		case <-timeout.C:
			return "", ErrOwnerGone
		case <-ctx.Done():
			return "", ErrWaitAborted
		}
	}
}

// Named finds an owner by its session; agent "" = whichever, if unambiguous.
func (r *Registry) Named(agent, session string) (Handle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.names[name{agent, session}]; o != nil {
		return o.Handle, nil
	}
	var found []*owner
	if agent == "" {
		for key, o := range r.names {
			if key.session == session {
				found = append(found, o)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", Errorf(KindOwnerGone, "no owner has the session %q; `owner/list` shows those that there are", session)
	case 1:
		return found[0].Handle, nil
	}
	agents := make([]string, len(found))
	for i, o := range found {
		agents[i] = o.Agent
	}
	slices.Sort(agents)
	return "", Errorf(KindInvalid, "session %q is known for several agents (%s); name the agent too", session, strings.Join(agents, ", "))
}
