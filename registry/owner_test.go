package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// register registers on a host and wants it to work.
func (w *world) register(reg Registration, host Host) Handle {
	w.t.Helper()
	h, err := w.Register(reg, host)
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// TestRegister pins the table's T7 and T30: (agent, session) is the owner, two
// agents with one session id are two, a lost host comes back to everything.
func TestRegister(t *testing.T) {
	w := newWorld(t)
	first := w.register(Registration{Token: tok("t1"), Agent: "claude", Session: "s"}, w.host)
	other := w.register(Registration{Token: tok("t2"), Agent: "codex", Session: "s"}, w.host)
	if first == other {
		t.Error("two agents with the same session id are one owner")
	}
	if _, err := w.Named("", "s"); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "claude, codex") {
		t.Errorf("Named without an agent: %v", err)
	}
	if got, err := w.Named("codex", "s"); got != other || err != nil {
		t.Errorf("Named = %s, %v", got, err)
	}
	if _, err := w.Named("", "none"); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("Named of nobody: %v", err)
	}
	task := w.start(AsOwner(first))
	w.end(task)
	w.claim(first, ClaimWake)
	done := w.start(AsOwner(first))
	w.end(done)

	live := &fakeHost{name: "second"}
	if _, err := w.Register(Registration{Token: tok("t3"), Agent: "claude", Session: "s"}, live); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a live host was replaced: %v", err)
	}
	w.HostGone(w.host)
	if o, _ := w.Owner(first); o.Status != Lost || o.Host != nil || o.LostAt == 0 {
		t.Errorf("%+v", o)
	}
	w.restart()
	again := w.register(Registration{Token: tok("t3"), Agent: "claude", Session: "s", Title: "x"}, live)
	o, _ := w.Owner(again)
	if again != first || o.Spent != 1 || o.Tasks != 2 || o.Waiting != 2 || o.Title != "x" || o.Host != live {
		t.Errorf("resumed %s as %+v", again, o)
	}
	for _, token := range []string{"t1", "t3"} { // several tokens, each valid
		if got, err := w.ByToken(tok(token)); got != first || err != nil {
			t.Errorf("ByToken(%s) = %s, %v", token, got, err)
		}
	}
	if diff := cmp.Diff([]Handle{first}, w.OwnersOf(live)); diff != "" {
		t.Error(diff)
	}
}

// TestTakeover: the old host hears it and is out, and its tokens are void; the
// same token is never a takeover.
func TestTakeover(t *testing.T) {
	w := newWorld(t)
	h := w.register(Registration{Token: tok("t1"), Session: "s"}, w.host)
	next := &fakeHost{name: "next"}
	w.register(Registration{Token: tok("t1"), Session: "s"}, next)
	if diff := cmp.Diff([]Handle{h}, w.host.heard()); diff != "" {
		t.Errorf("the same token on another connection: %s", diff)
	}
	third := &fakeHost{name: "third"}
	if got := w.register(Registration{Token: tok("t2"), Session: "s", Takeover: true}, third); got != h {
		t.Errorf("took over %s, got %s", h, got)
	}
	if diff := cmp.Diff([]Handle{h}, next.heard()); diff != "" {
		t.Error(diff)
	}
	_, err := w.ByToken(tok("t1"))
	wantMessage(t, err, ErrOwnerGone, takenOver().Error())
	w.HostGone(next) // its end means nothing any more
	if o, _ := w.Owner(h); o.Host != third {
		t.Errorf("%+v", o)
	}
	if _, err := w.Register(Registration{Token: tok("t2"), Session: "other"}, third); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("one token, two sessions: %v", err)
	}
	for _, bad := range []string{"", strings.Repeat("x", 15), "sixteen bytes or more", strings.Repeat("x", 257)} {
		if _, err := w.Register(Registration{Token: bad}, third); !errors.Is(err, ErrInvalid) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
}

// TestTakenOverIsSaid: who still has a token of before a takeover does not wait, as
// for a host that may come back, and is told what is the matter (API.md, ownerGone).
func TestTakenOverIsSaid(t *testing.T) {
	for _, way := range []string{"register", "bind"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.register(Registration{Token: tok("t1"), Session: "s"}, w.host)
			w.HostGone(w.host)
			waits := make(chan error)
			go func() { _, err := w.AwaitToken(t.Context(), tok("t1")); waits <- err }()
			synctest.Wait()
			begin, next := time.Now(), &fakeHost{name: "next"}
			if way == "register" {
				w.register(Registration{Token: tok("t2"), Session: "s", Takeover: true}, next)
			} else {
				w.register(Registration{Token: tok("t2")}, next)
				if _, err := w.Bind(t.Context(), Binding{Token: tok("t2"), Session: "s", Takeover: true}, next); err != nil {
					t.Fatal(err)
				}
			}
			wantMessage(t, <-waits, ErrOwnerGone, takenOver().Error())
			_, err := w.AwaitToken(t.Context(), tok("t1"))
			wantMessage(t, err, ErrOwnerGone, takenOver().Error())
			if since := time.Since(begin); since != 0 {
				t.Errorf("%s: waited %v", way, since)
			}
			for i := range 2 * maxTaken { // and what is remembered is bounded
				w.register(Registration{Token: tok(fmt.Sprint("many", i)), Session: "s", Takeover: true}, &fakeHost{})
			}
			if n := len(w.taken); n != maxTaken {
				t.Errorf("%d tokens are remembered, want %d", n, maxTaken)
			}
		})
	}
}

// TestTokensHashed: no token and no environment reaches the store.
func TestTokensHashed(t *testing.T) {
	w := newWorld(t)
	h := w.register(Registration{Token: tok("secret-token"), Session: "s", Env: map[string]string{"API_KEY": "secret-value"}}, w.host)
	kept := w.store.owners[h]
	if len(kept.Tokens) != 1 || strings.Contains(string(kept.Tokens[0][:]), "secret") {
		t.Errorf("kept %q", kept.Tokens)
	}
	if o, _ := w.Owner(h); o.Env["API_KEY"] != "secret-value" {
		t.Errorf("the environment is not there: %v", o.Env)
	}
	w.restart()
	if o, _ := w.Owner(h); o.Env != nil {
		t.Errorf("the environment came back from the store: %v", o.Env)
	}
}

// TestAwaitToken: a call whose token is unknown or has no host waits 5 s.
func TestAwaitToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		begin := time.Now()
		_, err := w.AwaitToken(t.Context(), tok("token-s"))
		wantMessage(t, err, ErrOwnerGone, "the editor's connection is not back yet; retry")
		if since := time.Since(begin); since != 5*time.Second {
			t.Errorf("waited %v", since)
		}
		got := make(chan Handle)
		go func() {
			h, err := w.AwaitToken(t.Context(), tok("token-s"))
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		synctest.Wait()
		h := w.owner("s")
		if g := <-got; g != h {
			t.Errorf("got %s", g)
		}
		w.HostGone(w.host)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := w.AwaitToken(ctx, tok("token-s")); !errors.Is(err, ErrWaitAborted) {
			t.Errorf("given up: %v", err)
		}
	})
}

// TestUpdate: what is shown of an owner.
func TestUpdate(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	busy, odd := Busy, OwnerStatus("odd")
	if err := w.Update(h, OwnerChange{Status: &busy, Title: text("t"), Cwd: text("/c"), Note: text("n"), Env: map[string]string{"A": "b"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Update(h, OwnerChange{Status: &odd}); !errors.Is(err, ErrInvalid) {
		t.Errorf("odd status: %v", err)
	}
	o, _ := w.Owner(h)
	if o.Status != Busy || o.Title != "t" || o.Cwd != "/c" || o.Note != "n" || o.Env["A"] != "b" {
		t.Errorf("%+v", o)
	}
	for _, bad := range []Handle{"o-99", OperatorHandle, Nobody} {
		if err := w.Update(bad, OwnerChange{}); err == nil {
			t.Errorf("Update(%q) worked", bad)
		}
	}
}

// TestOwnersBounded: registrations cannot grow the daemon without bound.
func TestOwnersBounded(t *testing.T) {
	w := newWorld(t)
	for i := range maxOwners - 2 { // the operator and nobody are two
		w.register(Registration{Token: tok(fmt.Sprint("t", i))}, w.host)
	}
	if _, err := w.Register(Registration{Token: tok("more")}, w.host); !errors.Is(err, ErrLimitReached) {
		t.Errorf("one more: %v", err)
	}
	w.register(Registration{Token: tok("t0")}, w.host)
}
