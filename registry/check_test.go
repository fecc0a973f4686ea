package registry

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestBounds: what a client gives is bounded before anything of it is kept
// (API.md, Errors: its memory without bound), and what is refused changes nothing.
func TestBounds(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	text, env := "/"+strings.Repeat("x", maxText-1), map[string]string{"A": strings.Repeat("x", maxEnv-3)}
	long, large := text+"x", map[string]string{"AB": env["A"]}
	before, _ := w.Owner(h)
	register := func(r Registration) error { _, err := w.Register(r, w.host); return err }
	bind := func(b Binding) error { _, err := w.Bind(t.Context(), b, w.host); return err }
	label := func(n int) error {
		s := spec()
		s.Label = strings.Repeat("x", n)
		_, err := w.Start(t.Context(), AsOwner(h), s, func(Row) error { return nil })
		return err
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{register(Registration{Token: tok("a"), Agent: long}), "invalid agent: 4097 bytes, at most 4096"},
		{register(Registration{Token: tok("a"), Session: long}), "invalid session: 4097 bytes, at most 4096"},
		{register(Registration{Token: tok("a"), Leases: make([]string, maxLeases+1)}), "invalid leases: 1025, at most 1024"},
		{register(Registration{Token: tok("a"), Env: large}), "invalid env: 2097153 bytes, at most 2097152; leave out what commands do not need"},
		{bind(Binding{Token: tok("token-s")}), "invalid session: expected a non-empty string"},
		{bind(Binding{Token: tok("token-s"), Session: long}), "invalid session: 4097 bytes, at most 4096"},
		{w.Update(h, OwnerChange{Title: &long}), "invalid title: 4097 bytes, at most 4096"},
		{w.Update(h, OwnerChange{Cwd: &long}), "invalid cwd: 4097 bytes, at most 4096"},
		{w.Update(h, OwnerChange{Note: &long}), "invalid note: 4097 bytes, at most 4096"},
		{w.Update(h, OwnerChange{Env: large}), "invalid env: 2097153 bytes, at most 2097152; leave out what commands do not need"},
		{label(maxLabel + 1), "invalid task label: 131073 bytes, at most 131072"},
	} {
		if !errors.Is(c.err, ErrInvalid) || c.err.Error() != c.want {
			t.Errorf("got %v, want %s", c.err, c.want)
		}
	}
	if after, _ := w.Owner(h); len(w.Owners()) != 1 || after.Title != before.Title || after.Note != before.Note || after.Env != nil || len(w.List(AsOwner(h), true)) != 0 {
		t.Errorf("a refused call changed the owner: %+v", after)
	}
	for _, err := range []error{
		register(Registration{Token: tok("a"), Agent: text, Session: text, Title: text, Cwd: text, Env: env, Leases: make([]string, maxLeases)}),
		w.Update(h, OwnerChange{Title: &text, Cwd: &text, Note: &text, Env: env}),
		label(maxLabel),
	} {
		if err != nil {
			t.Errorf("just within the bound: %v", err)
		}
	}
}

// TestOwnersCommandsCanBeStarted: what no command could be started with is refused
// where a host gives it, and not told of as a task that failed, start by start
// (BEHAVIOUR T192).
func TestOwnersCommandsCanBeStarted(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	before, _ := w.Owner(h)
	for _, c := range []struct {
		cwd  string
		env  map[string]string
		want string
	}{
		{"", map[string]string{"": "1"}, `invalid env: "" is no name of a variable`},
		{"", map[string]string{"A=B": "1"}, `invalid env: "A=B" is no name of a variable`},
		{"", map[string]string{"A\x00": "1"}, `invalid env: "A\x00" is no name of a variable`},
		{"", map[string]string{"A": "1\x00"}, "invalid env: the value of A holds a NUL byte"},
		{"rel/x", nil, `invalid cwd: "rel/x" is not an absolute path`},
		{"/a\x00", nil, "invalid cwd: it holds a NUL byte"},
	} {
		_, err := w.Register(Registration{Token: tok("a"), Cwd: c.cwd, Env: c.env}, w.host)
		for call, err := range map[string]error{"register": err, "update": w.Update(h, OwnerChange{Cwd: &c.cwd, Env: c.env})} {
			if !errors.Is(err, ErrInvalid) || err.Error() != c.want {
				t.Errorf("%s with %q, %q: %v, want %s", call, c.cwd, c.env, err, c.want)
			}
		}
	}
	if after, _ := w.Owner(h); len(w.Owners()) != 1 || after.Cwd != before.Cwd || after.Env != nil {
		t.Errorf("a refused call changed the owner: %+v", after)
	}
	none, env := "", map[string]string{"A": "=", "é (x)": ""} // odd, and possible
	if err := w.Update(h, OwnerChange{Cwd: &none, Env: env}); err != nil {
		t.Error(err)
	}
}

// TestDetailIsPlain: a producer's detail is shown to people wherever the task is; it
// commands no terminal. A line break is the model's to see (T120).
func TestDetailIsPlain(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	for detail, want := range map[string]string{
		"a\x1b[2Jb\x07\tc\r\u0085\u2028\u202ed": "a [2Jb  c    d",
		"multi\nline\n":                         "multi\nline\n",
		"":                                      "",
	} {
		task := w.start(AsOwner(h))
		w.Settle(task.Row, Outcome{Status: Failed, Detail: &detail})
		if got, err := w.Get(AsOwner(h), task.ID); err != nil || got.Detail == nil || *got.Detail != want {
			t.Errorf("%q: %q, %v, want %q", detail, *got.Detail, err, want)
		}
	}
}

// TestDetailIsCut: a producer's detail is kept in the record, the database and the
// log; a long one must not cost the task its end.
func TestDetailIsCut(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	task := w.start(AsOwner(h))
	detail := "x" + strings.Repeat("é", maxDetail)
	w.Settle(task.Row, Outcome{Status: Failed, Detail: &detail})
	got, err := w.Get(AsOwner(h), task.ID)
	if err != nil || got.Status != Failed || got.Detail == nil || len(*got.Detail) > maxDetail+len("…") || !utf8.ValidString(*got.Detail) || !strings.HasSuffix(*got.Detail, "é…") {
		t.Errorf("%v, %v, %d bytes", err, got.Status, len(*got.Detail))
	}
}
