package registry

import (
	"context"
	"errors"
)

// Bind names an unnamed owner (API.md, owner/bind). If one of that name exists
// it keeps its handle, and tokens and tasks of the unnamed one move to it; the
// handle of before goes on working. Fresh disposes first what an earlier owner
// of the name left; one with a live host is refused, and the unnamed one stays
// as it is.
func (r *Registry) Bind(ctx context.Context, b Binding, host Host) (Handle, error) {
	hash, err := hashToken(b.Token)
	if err != nil {
		return "", err
	}
	if err := b.check(); err != nil {
		return "", err
	}
	for {
		h, stale, err := r.bindOnce(hash, b, host)
		if err != nil || stale == "" {
			return h, err
		}
		_, err = r.Dispose(ctx, stale, "replaced by a fresh session of the same id")
		if err != nil && !errors.Is(err, ErrOwnerGone) { // gone is what it should be
			return "", err
		}
	}
}

// bindOnce binds, or says what must be disposed first.
func (r *Registry) bindOnce(hash [32]byte, b Binding, host Host) (h, stale Handle, err error) {
	r.mu.Lock()
	defer r.unlock()
	if r.phase != open {
		return "", "", ErrShuttingDown
	}
	o := r.byTokenLocked(hash)
	if o == nil || o.disposed != nil {
		return "", "", Errorf(KindOwnerGone, "this token is not registered; register it first")
	}
	if b.Agent == "" {
		b.Agent = o.Agent
	}
	key := name{b.Agent, b.Session}
	switch {
	case o.Session != "" && key == (name{o.Agent, o.Session}):
		return o.Handle, "", nil // said again
	case o.Session != "":
		return "", "", Errorf(KindUnauthorized, "owner %s is session %q of %q already", o.Handle, o.Session, o.Agent)
	}
	known := r.names[key]
	if known == nil {
		t := r.transitionLocked()
		next := o.OwnerRecord
		next.Agent, next.Session = b.Agent, b.Session
		r.putNamedLocked(t, o, next)
		return o.Handle, "", t.commit()
	}
	if b.Fresh {
		if known.host != nil {
			return "", "", Errorf(KindUnauthorized, "session %q of %q has a live host; a fresh session cannot have its id", b.Session, b.Agent)
		}
		return "", known.Handle, nil
	}
	if err := known.takeableLocked(host, b.Takeover); err != nil {
		return "", "", err
	}
	return known.Handle, "", r.mergeLocked(known, o, o.host, b.Takeover)
}

// mergeLocked moves everything of an unnamed owner to a named one, which gets
// that host (or none).
func (r *Registry) mergeLocked(known, o *owner, host Host, takeover bool) error {
	t := r.transitionLocked()
	next := known.OwnerRecord
	if known.outLocked(host, takeover) {
		r.voidLocked(t, next.Tokens)
		next.Tokens = nil
	}
	for _, hash := range o.Tokens {
		next.Tokens = withToken(next.Tokens, hash)
	}
	next.Scope, next.Title, next.Cwd, next.LostAt = o.Scope, o.Title, o.Cwd, o.LostAt
	if known.host != host { // else they are on their way with that host still
		r.returnLeasesLocked(t, known, nil)
	}
	env := o.env
	t.then(func() { r.removeOwnerLocked(o); r.aliases[o.Handle] = known.Handle })
	r.putNamedLocked(t, known, next)
	moved := ordered(o.starting, o.live, o.finished)
	for _, rec := range moved {
		next := rec.Record
		next.Owner = known.Handle
		t.then(func() { r.unindexLocked(rec); rec.owner = known })
		t.put(rec, next)
		if !rec.Starting {
			t.announce(&next)
		}
	}
	t.change.DropOwners = append(t.change.DropOwners, o.Handle)
	if err := t.commit(); err != nil {
		return err
	}
	for w := range o.waits {
		w.by = known
		known.waits[w] = true
	}
	known.aborts = append(known.aborts, o.aborts...) // who waits behind a read goes on waiting, as the new owner
	known.lostAt, known.awayAt, known.goneAt = o.lostAt, o.awayAt, o.goneAt
	r.hostLocked(known, host)
	r.setEnvLocked(known, env)
	known.note = o.note
	signal(&o.bell) // who waited there looks again, at the new owner
	signal(&o.settled)
	if len(moved) > 0 {
		r.announceLocked(known)
	}
	return nil
}
