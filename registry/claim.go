package registry

import (
	"crypto/rand"
	"slices"
)

// ClaimRules is what the mount that serves an owner says of claims.
type ClaimRules struct {
	Served   bool // a mount serves the owner
	Quiet    bool
	MaxWakes int64
}

// Claim is what a claim got.
type Claim struct {
	Tasks   []Task // oldest end first
	Lease   string // "" where nothing was taken
	Refused string // "", RefusedBudget, RefusedQuiet, RefusedEmpty
}

// Reasons of a claim and its refusals; the same values as on the wire.
const (
	ClaimWake    = "wake"
	ClaimTurnEnd = "turn-end"
	ClaimUser    = "user"

	RefusedBudget = "budget"
	RefusedQuiet  = "quiet"
	RefusedEmpty  = "empty"
)

// Bounds of claims.
const (
	maxClaim  = 1000 // notices of one claim; the rest waits for the next
	keptWakes = 10   // of an owner, for status
)

// Claim takes the notices that are due, for a turn of the agent (ARCHITECTURE,
// decision 6). A wake costs one of rules.MaxWakes, however many notices it
// takes, and is for notices that ring: parked ones go along but open no turn.
// "user" restores the budget (T164), also where take is false, which takes
// nothing.
func (r *Registry) Claim(h Handle, reason string, take bool, rules ClaimRules, by Host) (Claim, error) {
	if reason != ClaimWake && reason != ClaimTurnEnd && reason != ClaimUser {
		return Claim{}, Errorf(KindInvalid, "invalid reason %q: expected \"wake\", \"turn-end\" or \"user\"", reason)
	}
	r.mu.Lock()
	defer r.unlock()
	o, err := r.agentLocked(h)
	if err != nil {
		return Claim{}, err
	}
	next := o.OwnerRecord
	if reason == ClaimUser {
		next.Spent = 0
	}
	refused := o.refusalLocked(reason, rules)
	t := r.transitionLocked()
	var claim Claim
	switch {
	case refused != "":
		claim.Refused = refused
	case take:
		claim = r.leaseLocked(t, o)
		if reason == ClaimWake {
			next.Spent++
			next.Wakes = withWake(next.Wakes, r.millis(), claim.Tasks)
		}
	}
	if next.Spent == o.Spent && claim.Lease == "" {
		return claim, nil
	}
	t.putOwner(o, next)
	if err := t.commit(); err != nil {
		return Claim{}, err
	}
	if claim.Lease != "" && by != nil && by != o.host {
		r.lenders[claim.Lease] = by
	}
	return claim, nil
}

// refusalLocked says why a claim gets nothing.
func (o *owner) refusalLocked(reason string, rules ClaimRules) string {
	wake := reason == ClaimWake
	switch {
	case !rules.Served || o.dueLocked() == 0 || o.disposed != nil:
		return RefusedEmpty
	case wake && rules.Quiet:
		return RefusedQuiet
	case wake && len(o.waiting) == 0:
		return RefusedEmpty
	case wake && o.Spent >= rules.MaxWakes:
		return RefusedBudget
	}
	return ""
}

// leaseLocked puts everything that is due into one lease.
func (r *Registry) leaseLocked(t *transition, o *owner) Claim {
	taken := byEnd(o.waiting, o.parked)
	taken = taken[:min(len(taken), maxClaim)]
	claim := Claim{Tasks: snapshotsLocked(taken), Lease: "l-" + rand.Text()}
	for _, rec := range taken {
		next := rec.Record
		next.Notice, next.Lease = Leased, claim.Lease
		t.put(rec, next)
	}
	return claim
}

func withWake(wakes []Wake, at int64, tasks []Task) []Wake {
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		ids[i] = task.ID
	}
	wakes = append(slices.Clone(wakes), Wake{At: at, Tasks: ids})
	return wakes[max(0, len(wakes)-keptWakes):]
}

// Ack says that the agent has the notices of a lease. One not held is no error.
func (r *Registry) Ack(h Handle, lease string) error {
	_, err := r.endLease(h, lease, Acked)
	return err
}

// Release gives the notices of a lease back: they ring again, or with park
// wait for the next prompt, turn end or bell. A lease not held is no error.
func (r *Registry) Release(h Handle, lease string, park bool) error {
	if park {
		_, err := r.endLease(h, lease, Parked)
		return err
	}
	o, err := r.endLease(h, lease, Waiting)
	if err == nil && o != nil {
		r.mu.Lock()
		r.ringLocked(o)
		r.unlock()
	}
	return err
}

// endLease moves the notices of a lease on; its owner, if it held any.
func (r *Registry) endLease(h Handle, lease string, to Notice) (*owner, error) {
	r.mu.Lock()
	defer r.unlock()
	o, err := r.agentLocked(h)
	if err != nil {
		return nil, err
	}
	t := r.transitionLocked()
	for _, rec := range o.leased {
		if rec.Lease == lease {
			t.unlease(rec, to)
		}
	}
	if len(t.apply) == 0 {
		return nil, nil
	}
	if err := t.commit(); err != nil {
		return nil, err
	}
	delete(r.lenders, lease)
	return o, nil
}

func (t *transition) unlease(rec *record, to Notice) {
	next := rec.Record
	next.Notice, next.Lease = to, ""
	t.put(rec, next)
}

// returnLeasesLocked adds to a transition that an owner's leases come back, but for
// those named and those that other connections hold.
func (r *Registry) returnLeasesLocked(t *transition, o *owner, held []string) {
	for _, rec := range o.leased {
		if r.lenders[rec.Lease] == nil && !slices.Contains(held, rec.Lease) {
			t.unlease(rec, Waiting)
		}
	}
}

// returnLentLocked takes back the leases that a connection held of owners
// whose host it was not.
func (r *Registry) returnLentLocked(by Host) {
	lent := make(map[string]bool)
	for lease, holder := range r.lenders {
		if holder == by {
			lent[lease] = true
			delete(r.lenders, lease)
		}
	}
	if len(lent) > 0 {
		r.takeBackLocked(func(rec *record) bool { return lent[rec.Lease] })
	}
}

// takeBackLocked lets the leased notices wait again that which says, and rings.
func (r *Registry) takeBackLocked(which func(*record) bool) {
	for _, o := range r.agentsLocked() {
		t := r.transitionLocked()
		for _, rec := range o.leased {
			if which(rec) {
				t.unlease(rec, Waiting)
			}
		}
		if len(t.apply) == 0 {
			continue
		}
		if err := t.commit(); err != nil {
			r.log.Error("a lease could not be taken back yet", "owner", o.Handle, "error", err)
			r.retryLaterLocked()
			continue
		}
		r.ringLocked(o)
	}
}
