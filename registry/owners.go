package registry

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// owner is an owner in memory: what is kept, and what is only of this process.
type owner struct {
	OwnerRecord

	host   Host // nil without one
	env    map[string]string
	status OwnerStatus
	note   string
	lostAt time.Time // without a host: from when the grace runs
	goneAt time.Time // the same, however long ago: for retention
	awayAt time.Time // without a host: from when its leases are suspended
	lapsed bool      // the grace is over and its tasks have been cancelled

	disposed chan struct{} // set when the disposal begins, closed when it is over

	// Indexes of the owner's records. They follow from the records alone.
	starting, live, finished map[Row]*record
	waiting, parked, leased  map[Row]*record // notices; those of the first two are due
	keys                     map[string]*record

	waits   map[*waiter]bool // waits made as this owner
	bell    chan struct{}    // closed when a notice becomes due; nil: nobody waits
	aborts  []chan struct{}  // closed by AbortWaits: the owner's own, and those of owners merged into it
	settled chan struct{}    // closed when a task starts or ends; nil: nobody waits
}

// inboxLocked reports whether ends of the owner's tasks give notices.
func (o *owner) inboxLocked() bool { return o.Handle != Nobody && o.Handle != OperatorHandle }

// dueLocked counts the notices that a claim would get.
func (o *owner) dueLocked() int { return len(o.waiting) + len(o.parked) }

// startsLocked counts the starts that are under way. Rows that an earlier
// daemon left starting are their producer's business.
func (o *owner) startsLocked() int {
	n := 0
	for _, rec := range o.starting {
		if rec.started != nil {
			n++
		}
	}
	return n
}

// wakeLocked wakes who waits for a notice.
func (o *owner) wakeLocked() { signal(&o.bell) }

// signal closes a channel that somebody waits on, if there is one.
func signal(c *chan struct{}) {
	if *c != nil {
		close(*c)
		*c = nil
	}
}

// await is the channel that signal closes.
func await(c *chan struct{}) <-chan struct{} {
	if *c == nil {
		*c = make(chan struct{})
	}
	return *c
}

// abortedLocked is closed when the waits of the owner are aborted.
func (o *owner) abortedLocked() <-chan struct{} {
	if len(o.aborts) == 0 {
		o.aborts = append(o.aborts, make(chan struct{}))
	}
	return o.aborts[0]
}

func (r *Registry) addOwnerLocked(o *owner) {
	o.starting, o.live, o.finished = make(map[Row]*record), make(map[Row]*record), make(map[Row]*record)
	o.waiting, o.parked, o.leased = make(map[Row]*record), make(map[Row]*record), make(map[Row]*record)
	o.keys, o.waits = make(map[string]*record), make(map[*waiter]bool)
	r.owners[o.Handle] = o
	if o.Session != "" {
		r.names[name{o.Agent, o.Session}] = o
	}
	for _, hash := range o.Tokens {
		r.addTokenLocked(hash, o)
	}
}

// removeOwnerLocked takes an owner away whose records are gone.
func (r *Registry) removeOwnerLocked(o *owner) {
	r.setEnvLocked(o, nil)
	delete(r.owners, o.Handle)
	delete(r.lost, o.Handle)
	if key := (name{o.Agent, o.Session}); r.names[key] == o {
		delete(r.names, key)
	}
	for _, hash := range o.Tokens {
		r.dropTokenLocked(hash)
	}
	maps.DeleteFunc(r.aliases, func(_, to Handle) bool { return to == o.Handle })
}

// ownerLocked finds an owner by its handle, or by one that it had before.
func (r *Registry) ownerLocked(h Handle) (*owner, error) {
	for {
		next, ok := r.aliases[h]
		if !ok {
			break
		}
		h = next
	}
	if o := r.owners[h]; o != nil {
		return o, nil
	}
	return nil, Errorf(KindOwnerGone, "owner %s is not there any more; register again", h)
}

// agentLocked is ownerLocked for calls that only a registered owner can make.
func (r *Registry) agentLocked(h Handle) (*owner, error) {
	o, err := r.ownerLocked(h)
	if err == nil && !o.inboxLocked() {
		return nil, Errorf(KindUnauthorized, "the operator has no inbox, host or registration; name a session")
	}
	return o, err
}

func (o *owner) snapshotLocked() Owner {
	s := Owner{
		Handle: o.Handle, Agent: o.Agent, Session: o.Session, Scope: o.Scope,
		Title: o.Title, Cwd: o.Cwd, Note: o.note, Env: o.env,
		Host: o.host, Status: o.status, Spent: o.Spent, Wakes: o.Wakes,
		Tasks: len(o.live) + len(o.finished), Live: len(o.live),
		Waiting: len(o.waiting), Parked: len(o.parked),
	}
	if o.host == nil {
		s.Status, s.LostAt = Lost, o.LostAt
	} else if s.Status == "" {
		s.Status = Idle
	}
	return s
}

// Owner is a snapshot of an owner.
func (r *Registry) Owner(h Handle) (Owner, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, err := r.ownerLocked(h)
	if err != nil {
		return Owner{}, false
	}
	return o.snapshotLocked(), true
}

// Owners are snapshots of all registered owners, oldest first.
func (r *Registry) Owners() []Owner {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Owner
	for _, o := range r.agentsLocked() {
		all = append(all, o.snapshotLocked())
	}
	return all
}

// agentsLocked are the registered owners, oldest first.
func (r *Registry) agentsLocked() []*owner {
	var all []*owner
	for _, o := range r.owners {
		if o.inboxLocked() {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *owner) int {
		return cmp.Or(cmp.Compare(len(a.Handle), len(b.Handle)), cmp.Compare(a.Handle, b.Handle))
	})
	return all
}

// OwnersOf are the owners whose host that is.
func (r *Registry) OwnersOf(host Host) []Handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	var hosted []Handle
	for _, o := range r.agentsLocked() {
		if o.host != nil && o.host == host {
			hosted = append(hosted, o.Handle)
		}
	}
	return hosted
}

// Update changes what is shown of an owner.
func (r *Registry) Update(h Handle, c OwnerChange) error {
	if err := c.check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.unlock()
	o, err := r.agentLocked(h)
	if err != nil {
		return err
	}
	if err := r.envRoomLocked(o, c.Env); err != nil {
		return err
	}
	next := o.OwnerRecord
	next.Title, next.Cwd = or(c.Title, next.Title), or(c.Cwd, next.Cwd)
	if next.Title != o.Title || next.Cwd != o.Cwd {
		t := r.transitionLocked()
		t.putOwner(o, next)
		if err := t.commit(); err != nil {
			return err
		}
	}
	o.status, o.note = or(c.Status, o.status), or(c.Note, o.note)
	if c.Env != nil {
		r.setEnvLocked(o, c.Env)
	}
	return nil
}

func or[T any](p *T, otherwise T) T {
	if p != nil {
		return *p
	}
	return otherwise
}
