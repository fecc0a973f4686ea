package registry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLease pins T168 and the table: a leased notice is in no other claim; an
// acknowledged one is done, though it was never reported; a released one rings
// again, a parked one does not; a lease not held is no error.
func TestLease(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	w.ended(h, 1)
	c := w.claim(h, ClaimWake)
	if again := w.claim(h, ClaimTurnEnd); again.Refused != RefusedEmpty {
		t.Errorf("claimed twice: %+v", again)
	}
	if err := errors.Join(w.Release(h, c.Lease, false), w.Release(h, c.Lease, true), w.Ack(h, c.Lease), w.Ack(h, "none")); err != nil {
		t.Errorf("a lease not held: %v", err)
	}
	if len(w.rung()) != 1 || len(w.Inbox(h)) != 1 {
		t.Error("a released notice does not ring")
	}
	c = w.claim(h, ClaimWake)
	if err := w.Release(h, c.Lease, true); err != nil {
		t.Fatal(err)
	}
	if o, _ := w.Owner(h); len(w.rung()) != 0 || o.Waiting != 0 || o.Parked != 1 {
		t.Errorf("parked: %+v", o)
	}
	w.restart()
	w.owner("s")
	if c := w.claim(h, ClaimWake); c.Refused != RefusedEmpty {
		t.Errorf("a wake for a parked notice alone: %+v", c)
	}
	c = w.claim(h, ClaimUser)
	if len(c.Tasks) != 1 {
		t.Errorf("the next prompt does not get it: %+v", c)
	}
	if err := w.Ack(h, c.Lease); err != nil {
		t.Fatal(err)
	}
	w.HostGone(w.host)
	w.restart()
	w.owner("s")
	if got := w.get("bash-1"); got.Reported || len(w.Inbox(h)) != 0 {
		t.Errorf("acknowledged: %+v, inbox %v", got, ids(w.Inbox(h)))
	}
}

// TestWithdrawn pins the table's T167: a notice is withdrawn by a read before
// the claim; one that was claimed and then read does not come back.
func TestWithdrawn(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	tasks := w.ended(h, 3)
	w.read(AsOwner(h), tasks[0].ID)
	c := w.claim(h, ClaimWake)
	if diff := cmp.Diff([]string{"bash-2", "bash-3"}, ids(c.Tasks)); diff != "" {
		t.Error(diff)
	}
	w.read(AsOwner(h), tasks[1].ID)
	if err := w.Release(h, c.Lease, false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bash-3"}, ids(w.Inbox(h))); diff != "" {
		t.Error(diff)
	}
}

// TestLeaseSuspended: while the host is away its leases are suspended; those it
// names at its return are held on, the others wait again, and after 60 s all.
func TestLeaseSuspended(t *testing.T) {
	for _, restart := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			h := w.owner("s")
			away := func() {
				w.HostGone(w.host)
				if restart {
					w.restart()
				}
			}
			w.ended(h, 1)
			kept := w.claim(h, ClaimWake)
			w.ended(h, 1)
			dropped := w.claim(h, ClaimTurnEnd)
			away()
			time.Sleep(59 * time.Second)
			synctest.Wait()
			if len(w.Inbox(h)) != 0 {
				t.Error("leases came back too early")
			}
			w.register(Registration{Token: tok("token-s"), Agent: "agent", Session: "s", Leases: []string{kept.Lease}}, w.host)
			time.Sleep(time.Hour)
			if diff := cmp.Diff(ids(dropped.Tasks), ids(w.Inbox(h))); diff != "" {
				t.Errorf("unnamed leases: %s", diff)
			}
			away()
			time.Sleep(time.Minute)
			synctest.Wait()
			if diff := cmp.Diff([]string{"bash-1", "bash-2"}, ids(w.Inbox(h))); diff != "" {
				t.Errorf("after 60 s: %s", diff)
			}
			w.register(Registration{Token: tok("token-s"), Agent: "agent", Session: "s", Leases: []string{kept.Lease}}, w.host)
			if err := w.Ack(h, kept.Lease); err != nil || len(w.Inbox(h)) != 2 {
				t.Errorf("a lease that came back was acknowledged: %v", err)
			}
		})
	}
}

// TestLeaseRefused: a lease that the store does not take back is tried again
// once in a while, not as fast as the machine can, and comes back then.
func TestLeaseRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		w.ended(h, 1)
		w.claim(h, ClaimWake)
		w.HostGone(w.host)
		w.store.refusing(errors.New("no space left"))
		before := w.store.refused()
		time.Sleep(leaseGrace + 10*retryAfter + retryAfter/2)
		synctest.Wait()
		if tried := w.store.refused() - before; tried < 5 || tried > 20 {
			t.Errorf("tried %d times within 10 s", tried)
		}
		w.store.refusing(nil)
		time.Sleep(retryAfter)
		synctest.Wait()
		if len(w.Inbox(h)) != 1 {
			t.Error("the lease did not come back")
		}
	})
}

// TestLeaseOfGuest: a lease of a caller that is no host of the owner comes back
// when its connection ends, and the host's return does not touch it.
func TestLeaseOfGuest(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	w.ended(h, 1)
	guest := &fakeHost{name: "guest"}
	if _, err := w.Claim(h, ClaimTurnEnd, true, ClaimRules{Served: true}, guest); err != nil {
		t.Fatal(err)
	}
	w.HostGone(w.host)
	w.owner("s")
	if len(w.Inbox(h)) != 0 {
		t.Error("the host's return took the guest's lease")
	}
	w.HostGone(guest)
	if len(w.Inbox(h)) != 1 || len(w.rung()) != 1 {
		t.Error("the guest's lease did not come back")
	}
}
