package turn

import (
	"fmt"
	"maps"
	"slices"
)

// Where a notice is, but for those in a lease.
type place int

const (
	waiting place = iota
	parked        // rings nobody
	acked
)

// daemon is what a machine may rely on of the daemon: the claims, leases and
// the budget of one owner, and that it may go away and come back.
type daemon struct {
	w       *world
	away    bool          // no connection
	claims  map[int]Claim // not answered
	notices map[string]place
	leased  map[string][]string // by lease
	reason  map[string]string   // of the claim that gave a lease
	given   map[string][]string // what was in a lease, for ever
	used    map[string]bool     // leases of wakes for which a turn was opened
	lapsed  map[string]bool     // came back, though the machine may have them still
	strayed map[string]bool     // notices of those
	unsaid  map[string]place    // leases of which it has not heard what became of them
	spent   int
	leases  int
}

func newDaemon(w *world) *daemon {
	return &daemon{
		w: w, claims: map[int]Claim{}, notices: map[string]place{}, leased: map[string][]string{}, reason: map[string]string{},
		given: map[string][]string{}, used: map[string]bool{}, lapsed: map[string]bool{}, strayed: map[string]bool{}, unsaid: map[string]place{},
	}
}

// at lists the notices of some places, oldest first.
func (d *daemon) at(where ...place) (names []string) {
	for i := range len(d.notices) {
		name := fmt.Sprintf("n%d", i+1)
		if slices.Contains(where, d.notices[name]) && d.leaseOf(name) == "" {
			names = append(names, name)
		}
	}
	return names
}

func (d *daemon) leaseOf(notice string) string {
	for lease, names := range d.leased {
		if slices.Contains(names, notice) {
			return lease
		}
	}
	return ""
}

// notice has a task end.
func (d *daemon) notice() {
	d.notices[fmt.Sprintf("n%d", len(d.notices)+1)] = waiting
	d.ring()
}

func (d *daemon) ring() {
	if !d.away && !d.w.gone && !d.w.dead && len(d.at(waiting)) > 0 {
		d.w.step(Bell{})
	}
}

// claimed takes a claim. Without a connection the proxy answers it itself.
func (d *daemon) claimed(c Claim) {
	if d.away {
		d.w.next = append(d.w.next, Claimed{ID: c.ID})
		return
	}
	d.claims[c.ID] = c
}

// grant is what a claim gives, as the registry rules it.
func (d *daemon) grant(c Claim) (got Claimed) {
	got.ID = c.ID
	if c.Reason == ForUser {
		d.spent = 0
	}
	due := d.at(waiting, parked)
	refused := c.Reason == ForWake && (len(d.at(waiting)) == 0 || d.spent >= maxWakes)
	if !c.Take || len(due) == 0 || refused {
		return got
	}
	if c.Reason == ForWake {
		d.spent++
	}
	d.leases++
	got.Lease, got.Notices = fmt.Sprintf("l%d", d.leases), due
	d.leased[got.Lease], d.reason[got.Lease] = due, c.Reason
	d.given[got.Lease] = due
	return got
}

// answer answers a claim; not, where it fails.
func (d *daemon) answer(id int, fails bool) {
	c := d.claims[id]
	delete(d.claims, id)
	got := Claimed{ID: id}
	if !fails {
		got = d.grant(c)
	}
	d.w.step(got)
}

// settle moves the notices of a lease on, or later, when it hears of it.
func (d *daemon) settle(lease string, to place) {
	if d.away {
		d.unsaid[lease] = to
		return
	}
	for _, n := range d.leased[lease] {
		d.notices[n] = to
	}
	delete(d.leased, lease)
}

// unheard reports whether the machine is done with a lease of which the daemon
// could not hear, or has not got it yet.
func (d *daemon) unheard(lease string) bool {
	if _, ok := d.unsaid[lease]; ok {
		return true
	}
	for _, e := range d.w.next {
		if c, ok := e.(Claimed); ok && c.Lease == lease {
			return true
		}
	}
	return false
}

// leave: the daemon ends, or the connection. Claims may have been granted in the
// last moment, but nobody hears of it.
func (d *daemon) leave(granted bool) {
	d.away = true
	for _, id := range slices.Sorted(maps.Keys(d.claims)) {
		c := d.claims[id]
		delete(d.claims, id)
		if granted {
			if lost := d.grant(c); lost.Lease != "" {
				d.unsaid[lost.Lease] = waiting
			}
		}
		d.w.step(Claimed{ID: id})
	}
}

// lapse: a minute without the host, and all leases have come back.
func (d *daemon) lapse() {
	for lease, names := range d.leased {
		d.w.excuse(func(t *telling) bool { return slices.Contains(names, t.notice) })
		d.lapsed[lease] = true
		for _, n := range names {
			d.strayed[n] = true
		}
		delete(d.leased, lease)
	}
}

// comeBack registers the session anew: it names the leases that the machine has,
// the others wait again; what the daemon has missed is said.
func (d *daemon) comeBack() {
	d.away = false
	for lease, to := range d.unsaid {
		d.settle(lease, to)
	}
	clear(d.unsaid)
	held := d.w.m.Leases()
	maps.DeleteFunc(d.leased, func(l string, _ []string) bool { return !slices.Contains(held, l) })
	if !d.w.gone && len(d.at(waiting, parked)) > 0 {
		d.w.step(Bell{})
	}
}

// forget: the host has died with all that it had not said.
func (d *daemon) forget() {
	clear(d.leased)
	clear(d.unsaid)
	clear(d.claims)
}

// spend takes the wake that was paid for one of these notices, once.
func (d *daemon) spend(notices []string) bool {
	for lease, names := range d.given {
		if d.reason[lease] == ForWake && !d.used[lease] && slices.Contains(notices, names[0]) {
			d.used[lease] = true
			return true
		}
	}
	return false
}
