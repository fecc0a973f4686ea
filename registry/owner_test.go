package registry

import (
	"context"
	"errors"
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
	first := w.register(Registration{Token: "t1", Agent: "claude", Session: "s"}, w.host)
	other := w.register(Registration{Token: "t2", Agent: "codex", Session: "s"}, w.host)
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
	if _, err := w.Register(Registration{Token: "t3", Agent: "claude", Session: "s"}, live); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a live host was replaced: %v", err)
	}
	w.HostGone(w.host)
	if o, _ := w.Owner(first); o.Status != Lost || o.Host != nil || o.LostAt == 0 {
		t.Errorf("%+v", o)
	}
	w.restart()
	again := w.register(Registration{Token: "t3", Agent: "claude", Session: "s", Title: "x"}, live)
	o, _ := w.Owner(again)
	if again != first || o.Spent != 1 || o.Tasks != 2 || o.Waiting != 2 || o.Title != "x" || o.Host != live {
		t.Errorf("resumed %s as %+v", again, o)
	}
	for _, token := range []string{"t1", "t3"} { // several tokens, each valid
		if got, err := w.ByToken(token); got != first || err != nil {
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
	h := w.register(Registration{Token: "t1", Session: "s"}, w.host)
	next := &fakeHost{name: "next"}
	w.register(Registration{Token: "t1", Session: "s"}, next)
	if diff := cmp.Diff([]Handle{h}, w.host.heard()); diff != "" {
		t.Errorf("the same token on another connection: %s", diff)
	}
	third := &fakeHost{name: "third"}
	if got := w.register(Registration{Token: "t2", Session: "s", Takeover: true}, third); got != h {
		t.Errorf("took over %s, got %s", h, got)
	}
	if diff := cmp.Diff([]Handle{h}, next.heard()); diff != "" {
		t.Error(diff)
	}
	if _, err := w.ByToken("t1"); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("the old token: %v", err)
	}
	w.HostGone(next) // its end means nothing any more
	if o, _ := w.Owner(h); o.Host != third {
		t.Errorf("%+v", o)
	}
	if _, err := w.Register(Registration{Token: "t2", Session: "other"}, third); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("one token, two sessions: %v", err)
	}
	for _, bad := range []string{"", "a b", strings.Repeat("x", 300)} {
		if _, err := w.Register(Registration{Token: bad}, third); !errors.Is(err, ErrInvalid) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
}

// TestTokensHashed: no token and no environment reaches the store.
func TestTokensHashed(t *testing.T) {
	w := newWorld(t)
	h := w.register(Registration{Token: "secret-token", Session: "s", Env: map[string]string{"API_KEY": "secret-value"}}, w.host)
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

// TestBind: an unnamed owner works, gets its name, and what an owner of that
// name has becomes one with it.
func TestBind(t *testing.T) {
	w := newWorld(t)
	unnamed := w.register(Registration{Token: "t1", Agent: "claude"}, w.host)
	task := w.start(AsOwner(unnamed))
	bind := func(b Binding, host Host) (Handle, error) { return w.Bind(t.Context(), b, host) }
	if h, err := bind(Binding{Token: "t1", Session: "s"}, w.host); h != unnamed || err != nil {
		t.Fatalf("Bind = %s, %v", h, err)
	}
	for range 2 { // said again
		if h, err := bind(Binding{Token: "t1", Session: "s", Fresh: true}, w.host); h != unnamed || err != nil {
			t.Fatalf("Bind again = %s, %v", h, err)
		}
	}
	if _, err := bind(Binding{Token: "t1", Session: "s2"}, w.host); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a second name: %v", err)
	}
	if _, err := bind(Binding{Token: "none", Session: "s2"}, w.host); !errors.Is(err, ErrOwnerGone) {
		t.Errorf("an unknown token: %v", err)
	}

	// Another connection resumes the session: refused, then taken over.
	next := &fakeHost{name: "next"}
	second := w.register(Registration{Token: "t2", Agent: "claude", Cwd: "/new"}, next)
	own := w.start(AsOwner(second))
	if _, err := bind(Binding{Token: "t2", Session: "s"}, next); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("a live host: %v", err)
	}
	if _, err := bind(Binding{Token: "t2", Session: "s", Fresh: true, Takeover: true}, next); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("fresh over a live host: %v", err)
	}
	if got := w.get(own.ID); got.Owner != second {
		t.Errorf("a refused bind moved %+v", got)
	}
	h, err := bind(Binding{Token: "t2", Session: "s", Takeover: true}, next)
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
	if _, err := w.ByToken("t1"); !errors.Is(err, ErrOwnerGone) {
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
	fresh := w.register(Registration{Token: "t2", Agent: "agent"}, w.host)
	h, err := w.Bind(t.Context(), Binding{Token: "t2", Session: "s", Fresh: true}, w.host)
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
	w.register(Registration{Token: "t2", Agent: "agent"}, w.host)
	h, err := w.Bind(t.Context(), Binding{Token: "t2", Session: "s"}, w.host)
	if err != nil || h != named || len(w.host.heard()) != 0 {
		t.Errorf("Bind = %s, %v; lost %v", h, err, w.host.heard())
	}
	if got, err := w.ByToken("token-s"); got != named || err != nil {
		t.Errorf("the token of before: %s, %v", got, err)
	}
}

// TestAwaitToken: a call whose token is unknown or has no host waits 5 s.
func TestAwaitToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		begin := time.Now()
		_, err := w.AwaitToken(t.Context(), "token-s")
		wantMessage(t, err, ErrOwnerGone, "the editor's connection is not back yet; retry")
		if since := time.Since(begin); since != 5*time.Second {
			t.Errorf("waited %v", since)
		}
		got := make(chan Handle)
		go func() {
			h, err := w.AwaitToken(t.Context(), "token-s")
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
		if _, err := w.AwaitToken(ctx, "token-s"); !errors.Is(err, ErrWaitAborted) {
			t.Errorf("given up: %v", err)
		}
	})
}

// TestOwnerLost pins owners.graceMs: live tasks are cancelled then, with the
// detail "owner lost" and a notice; owner, finished tasks and notices stay;
// leftovers are ended (table, T72, T76).
func TestOwnerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		live, ended, deaf := w.start(AsOwner(h)), w.start(AsOwner(h)), w.start(AsOwner(h))
		w.fake.of(ended.Row).leftovers = 1
		w.end(ended)
		w.fake.onCancel = func(row Row) error {
			if row == deaf.Row {
				return errors.New("no answer")
			}
			w.Settle(row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
			return nil
		}
		unnamed := w.register(Registration{Token: "t2"}, w.host)
		w.HostGone(w.host)
		time.Sleep(8*time.Hour - time.Millisecond)
		synctest.Wait()
		if w.get(live.ID).Status != Running {
			t.Error("cancelled too early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := w.get(live.ID); got.Status != Killed || *got.Detail != "owner lost" || got.Reported {
			t.Errorf("%+v", got)
		}
		if got := w.get(deaf.ID); got.Status != Failed || *got.Detail != "cancel threw during teardown; work may be orphaned: no answer" || got.Reported {
			t.Errorf("%+v", got)
		}
		if w.Facts(ended).Leftovers != 0 {
			t.Error("leftovers live on")
		}
		if diff := cmp.Diff([]string{"owner lost"}, w.fake.cancels(live.Row)); diff != "" {
			t.Error(diff)
		}
		if _, there := w.Owner(unnamed); there {
			t.Error("an unnamed owner without tasks outlives the grace")
		}
		w.owner("s")
		if diff := cmp.Diff([]string{"bash-2", "bash-1", "bash-3"}, sorted(ids(w.Inbox(h)), "bash-2")); diff != "" {
			t.Errorf("notices after the return: %s", diff)
		}
	})
}

// sorted puts first in front and the rest in order: two ends in one instant
// have no order of their own.
func sorted(list []string, first string) []string {
	rest := []string{}
	for _, s := range list {
		if s != first {
			rest = append(rest, s)
		}
	}
	if len(rest) == 2 && rest[0] > rest[1] {
		rest[0], rest[1] = rest[1], rest[0]
	}
	return append([]string{first}, rest...)
}

// TestOwnerBack: a host that comes back within the grace finds its tasks
// running, also over a restart of the daemon.
func TestOwnerBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		task := w.start(AsOwner(h))
		w.HostGone(w.host)
		time.Sleep(7 * time.Hour)
		w.owner("s")
		time.Sleep(7 * time.Hour)
		if w.get(task.ID).Status != Running || len(w.fake.cancels(task.Row)) != 0 {
			t.Error("cancelled though its host is there")
		}
		w.HostGone(w.host)
		time.Sleep(7 * time.Hour)
		w.restart()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if len(w.fake.cancels(task.Row)) != 0 {
			t.Error("cancelled too early after a restart")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(w.fake.cancels(task.Row)) != 1 {
			t.Error("the grace began anew with the daemon")
		}
	})
}

// TestRearm: a shorter grace counts at once.
func TestRearm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		task := w.start(AsOwner(w.owner("s")))
		w.HostGone(w.host)
		w.knobs.Lock()
		w.grace.Owner = time.Minute
		w.knobs.Unlock()
		w.Rearm()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(w.fake.cancels(task.Row)) != 1 {
			t.Error("not cancelled after the shorter grace")
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
