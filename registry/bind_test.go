package registry

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestBind: an unnamed owner works, gets its name, and what an owner of that
// name has becomes one with it.
func TestBind(t *testing.T) {
	w := newWorld(t)
	unnamed := w.register(Registration{Token: tok("t1"), Agent: "claude"}, w.host)
	task := w.start(AsOwner(unnamed))
	bind := func(b Binding, host Host) (Handle, error) { return w.Bind(t.Context(), b, host) }
	if h, err := bind(Binding{Token: tok("t1"), Session: "s"}, w.host); h != unnamed || err != nil {
		t.Fatalf("Bind = %s, %v", h, err)
	}
	for range 2 { // said again
		if h, err := bind(Binding{Token: tok("t1"), Session: "s", Fresh: true}, w.host); h != unnamed || err != nil {
			t.Fatalf("Bind again = %s, %v", h, err)
		}
	}
	if _, err := bind(Binding{Token: tok("t1"), Session: "s2"}, w.host); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a second name: %v", err)
	}
	if _, err := bind(Binding{Token: tok("none"), Session: "s2"}, w.host); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("an unknown token: %v", err)
	}

	// Another connection resumes the session: refused, then taken over.
	next := &fakeHost{name: "next"}
	second := w.register(Registration{Token: tok("t2"), Agent: "claude", Cwd: "/new"}, next)
	own := w.start(AsOwner(second))
	if _, err := bind(Binding{Token: tok("t2"), Session: "s"}, next); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a live host: %v", err)
	}
	if _, err := bind(Binding{Token: tok("t2"), Session: "s", Fresh: true, Takeover: true}, next); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("fresh over a live host: %v", err)
	}
	if got := w.get(own.ID); got.Owner != second {
		t.Errorf("a refused bind moved %+v", got)
	}
	h, err := bind(Binding{Token: tok("t2"), Session: "s", Takeover: true}, next)
	if h != unnamed || err != nil {
		t.Fatalf("takeover = %s, %v; the older owner keeps its handle", h, err)
	}
	if diff := cmp.Diff([]Handle{h}, w.host.heard()); diff != "" {
		t.Error(diff)
	}
	o, _ := w.Owner(h)
	if o.Host != next || o.Live != 2 || o.Cwd != "/new" {
		t.Errorf("%+v", o)
	}
	for _, c := range []Caller{AsOwner(h), AsOwner(second)} { // the old handle goes on working
		if diff := cmp.Diff([]string{task.ID, own.ID}, ids(w.List(c, false))); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := w.ByToken(tok("t1")); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("the token of before: %v", err)
	}
	w.end(own)
	if len(w.Inbox(second)) != 1 || len(w.rung()) != 1 {
		t.Error("the end of a moved task gives no notice")
	}
	w.restart()
	if diff := cmp.Diff([]string{task.ID, own.ID}, ids(w.List(AsOwner(h), true))); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
	if len(w.Owners()) != 1 {
		t.Errorf("%d owners", len(w.Owners()))
	}
}

// TestBindFresh: what an earlier owner of the name left is disposed first, and
// the new one starts clean (table, T165).
func TestBindFresh(t *testing.T) {
	w := newWorld(t)
	old := w.owner("s")
	live, ended := w.start(AsOwner(old)), w.start(AsOwner(old))
	w.end(ended)
	w.claim(old, ClaimWake)
	w.HostGone(w.host)
	w.fake.onCancel = func(row Row) error { w.Settle(row, Outcome{Status: Killed}); return nil }
	fresh := w.register(Registration{Token: tok("t2"), Agent: "agent"}, w.host)
	h, err := w.Bind(t.Context(), Binding{Token: tok("t2"), Session: "s", Fresh: true}, w.host)
	if err != nil || h != fresh {
		t.Fatalf("Bind = %s, %v", h, err)
	}
	o, _ := w.Owner(h)
	if o.Tasks != 0 || o.Spent != 0 || o.Session != "s" || len(w.Owners()) != 1 {
		t.Errorf("%+v", o)
	}
	if len(w.fake.cancels(live.Row)) != 1 || !w.fake.of(ended.Row).removed {
		t.Error("the old owner's work was not ended and removed")
	}
	if got := w.start(AsOwner(h)).ID; got != "bash-3" {
		t.Errorf("ids start again: %s (T21)", got)
	}
}

// TestBindSameConnection: a bind on the connection that hosts the named owner
// is no takeover: no refusal, nobody is lost.
func TestBindSameConnection(t *testing.T) {
	w := newWorld(t)
	named := w.owner("s")
	w.register(Registration{Token: tok("t2"), Agent: "agent"}, w.host)
	w.ended(named, 1)
	lease := w.claim(named, ClaimUser).Lease
	h, err := w.Bind(t.Context(), Binding{Token: tok("t2"), Session: "s"}, w.host)
	if err != nil || h != named || len(w.host.heard()) != 0 {
		t.Errorf("Bind = %s, %v; lost %v", h, err, w.host.heard())
	}
	if again := w.claim(named, ClaimUser); lease == "" || len(again.Tasks) > 0 {
		t.Errorf("the notices that are on their way come again: %+v", again.Tasks)
	}
	if got, err := w.ByToken(tok("token-s")); got != named || err != nil {
		t.Errorf("the token of before: %s, %v", got, err)
	}
}

// TestBindWithoutHost: a third connection binds an owner whose host is away. A
// takeover is one all the same: the live host of the name hears that it lost
// the owner, which has no host then.
func TestBindWithoutHost(t *testing.T) {
	w := newWorld(t)
	named := w.owner("s")
	away := &fakeHost{name: "away"}
	w.register(Registration{Token: tok("t2"), Agent: "agent"}, away)
	w.HostGone(away)
	h, err := w.Bind(t.Context(), Binding{Token: tok("t2"), Session: "s", Takeover: true}, &fakeHost{name: "third"})
	if err != nil || h != named {
		t.Fatalf("Bind = %s, %v", h, err)
	}
	if diff := cmp.Diff([]Handle{named}, w.host.heard()); diff != "" {
		t.Error(diff)
	}
	if o, _ := w.Owner(named); o.Host != nil || o.Status != Lost || o.LostAt == 0 {
		t.Errorf("%+v", o)
	}
	w.consistent()
}

// TestTakeoverOfOneAway: who takes an owner over while its host is away keeps it.
// After a restart of the daemon both come back, the one that is out perhaps last.
func TestTakeoverOfOneAway(t *testing.T) {
	w := newWorld(t)
	h := w.register(Registration{Token: tok("t1"), Session: "s"}, w.host)
	w.HostGone(w.host)
	second, third := &fakeHost{name: "second"}, &fakeHost{name: "third"}
	w.register(Registration{Token: tok("t2")}, second)
	if got, err := w.Bind(t.Context(), Binding{Token: tok("t2"), Session: "s", Takeover: true}, second); got != h || err != nil {
		t.Fatalf("Bind = %s, %v", got, err)
	}
	if _, err := w.Register(Registration{Token: tok("t1"), Session: "s"}, w.host); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("who is out comes back: %v", err)
	}
	w.HostGone(second)
	w.register(Registration{Token: tok("t3"), Session: "s", Takeover: true}, third)
	if _, err := w.Register(Registration{Token: tok("t2"), Session: "s"}, second); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("who is out comes back: %v", err)
	}
	if o, _ := w.Owner(h); o.Host != third || len(third.heard()) > 0 {
		t.Errorf("%+v, lost %v", o, third.heard())
	}
}

// TestBindKeepsAborts: what waits behind a read of an owner that is merged can
// still be aborted.
func TestBindKeepsAborts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		named := w.owner("s")
		unnamed := w.register(Registration{Token: tok("t2"), Agent: "agent"}, w.host)
		task := w.start(AsOwner(unnamed))
		_, _, receipt, err := w.Read(t.Context(), AsOwner(unnamed), task.ID, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan error, 1)
		go func() { _, _, _, err := w.Read(t.Context(), AsOwner(unnamed), task.ID, nil, false); second <- err }()
		synctest.Wait()
		if _, err := w.Bind(t.Context(), Binding{Token: tok("t2"), Session: "s"}, w.host); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(second) != 0 {
			t.Fatalf("the merge ended the read: %v", <-second)
		}
		w.AbortWaits(named)
		synctest.Wait()
		select {
		case err := <-second:
			if !errors.Is(err, ErrWaitAborted) {
				t.Error(err)
			}
		default:
			t.Error("the read goes on after the abort")
		}
		receipt.Delivered()
	})
}

// TestRegisterBinds: a host whose register came through and whose bind did not
// (the daemon ended in between) registers again with the name, and finds what
// both owners have.
func TestRegisterBinds(t *testing.T) {
	w := newWorld(t)
	named := w.owner("s")
	old := w.start(AsOwner(named))
	w.HostGone(w.host)
	unnamed := w.register(Registration{Token: tok("t2"), Agent: "agent"}, w.host)
	own := w.start(AsOwner(unnamed))
	w.restart()
	other := &fakeHost{name: "other"}
	w.register(Registration{Token: tok("token-s"), Agent: "agent", Session: "s"}, other)
	reg := Registration{Token: tok("t2"), Agent: "agent", Session: "s"}
	if _, err := w.Register(reg, w.host); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("over a live host: %v", err)
	}
	reg.Takeover = true
	if h := w.register(reg, w.host); h != named {
		t.Errorf("got %s, want %s", h, named)
	}
	if diff := cmp.Diff([]Handle{named}, other.heard()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{old.ID, own.ID}, ids(w.List(AsOwner(named), false))); diff != "" {
		t.Error(diff)
	}
	if _, err := w.ByToken(tok("token-s")); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("the token of before: %v", err)
	}
	w.end(old)
	w.end(own)
	w.awaitQueue()
	w.consistent()
}
