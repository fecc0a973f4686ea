package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sidetask/scope"
)

func ptr[T any](v T) *T { return &v }

// serving tells, for a list of scopes, which mount serves each.
func serving(l *Live, scopes ...scope.Path) string {
	var parts []string
	for _, at := range scopes {
		m, ok := l.Mount(at)
		if !ok {
			parts = append(parts, fmt.Sprintf("%s: none", at))
			continue
		}
		parts = append(parts, fmt.Sprintf("%s: %s %d", at, m.Scope, m.WaitTimeoutMs))
	}
	return strings.Join(parts, ", ")
}

// TestMount pins CONFIG.md: the nearest table at or above decides, a disabled
// one too.
func TestMount(t *testing.T) {
	l := open(t, file(t, `
[mounts."/"]
waitTimeoutMs = 1
[mounts."/a"]
enabled = false
waitTimeoutMs = 2
[mounts."/a/b/c"]
`)).Live
	want := "/: / 1, /x/y: / 1, /ab: / 1, /a: none, /a/b: none, /a/b/c: /a/b/c 2, /a/b/c/d: /a/b/c 2"
	if got := serving(l, "/", "/x/y", "/ab", "/a", "/a/b", "/a/b/c", "/a/b/c/d"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := len(l.Mounts()); n != 3 {
		t.Errorf("%d mounts are listed, want 3 with the disabled one", n)
	}
}

// TestAttach pins API.md mount/attach: inherits like a table of the file,
// refused where one stands; a disabled table is none.
func TestAttach(t *testing.T) {
	path := file(t, "[mounts.\"/\"]\nenabled = false\nwaitTimeoutMs = 5\nmaxWaitTimeoutMs = 50\n[mounts.\"/a\"]\nwaitTimeoutMs = 6\n")
	h := open(t, path)
	mounted := 0
	h.OnMounts(func() { mounted++ })
	noLoss := func(reason string) { t.Errorf("lost: %s", reason) }

	for _, c := range []struct {
		at   scope.Path
		o    Overrides
		want string
	}{
		{"/a", Overrides{}, `a mount stands at "/a" already (` + path + `:5)`},
		{"/a/b", Overrides{WaitTimeoutMs: ptr[int64](51)}, `waitTimeoutMs (51) exceeds maxWaitTimeoutMs (50) in mount "/a/b"`},
		{"/a/b", Overrides{MaxWaitTimeoutMs: ptr[int64](5)}, `waitTimeoutMs (6) exceeds maxWaitTimeoutMs (5) in mount "/a/b"`},
		{"/a/b", Overrides{MaxConsecutiveWakes: ptr[int64](0)}, `maxConsecutiveWakes (0) must be a whole number of turns, 1 to 9007199254740991`},
		{"/a/b", Overrides{CompletionDelivery: ptr("loud")}, `completionDelivery ("loud") must be "wakeup" or "quiet"`},
	} {
		if _, _, err := h.Attach(c.at, c.o, noLoss); err == nil || err.Error() != c.want {
			t.Errorf("Attach(%s) = %v, want %s", c.at, err, c.want)
		}
	}
	if mounted != 0 {
		t.Error("a refused mount is told")
	}

	root, detachRoot, err := h.Attach("/", Overrides{WaitTimeoutMs: ptr[int64](7)}, noLoss)
	if err != nil {
		t.Fatalf("Attach where a disabled table stands: %v", err)
	}
	below, detachBelow, err := h.Attach("/x/y", Overrides{CompletionDelivery: ptr(Quiet)}, noLoss)
	if err != nil || below == root {
		t.Fatalf("Attach = %s, %v", below, err)
	}
	if _, _, err := h.Attach("/x/y", Overrides{}, noLoss); err == nil || err.Error() != `a mount stands at "/x/y" already (connection)` {
		t.Errorf("Attach over another = %v", err)
	}
	if got, want := serving(h.Live, "/", "/x/y/z", "/a/b", "/x"), "/: / 7, /x/y/z: /x/y 7, /a/b: /a 6, /x: / 7"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	origins := map[string]string{}
	for _, s := range h.Settings() {
		origins[s.Key] = s.Origin
	}
	for key, want := range map[string]string{
		`mounts."/".waitTimeoutMs`:          "connection",
		`mounts."/".maxWaitTimeoutMs`:       "default", // a disabled table is none: nothing is above
		`mounts."/x/y".completionDelivery`:  "connection",
		`mounts."/x/y".waitTimeoutMs`:       "inherited from /",
		`mounts."/a".waitTimeoutMs`:         path + ":6",
		`mounts."/a".maxWaitTimeoutMs`:      "inherited from /",
		`mounts."/x/y".maxConsecutiveWakes`: "default",
	} {
		if origins[key] != want {
			t.Errorf("%s comes from %q, want %q", key, origins[key], want)
		}
	}
	detachRoot()
	detachRoot()
	if got, want := serving(h.Live, "/", "/x/y", "/a"), "/: none, /x/y: /x/y 5, /a: /a 6"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	detachBelow()
	if mounted != 4 {
		t.Errorf("the mounts are told to have changed %d times, want 4", mounted)
	}
	if _, _, err := h.Attach("/x/y", Overrides{}, noLoss); err != nil {
		t.Errorf("Attach where one stood: %v", err)
	}
}

// TestLost: a later file brings a table of its own, or a cap that the
// attached mount cannot live with; its connection is told.
func TestLost(t *testing.T) {
	path := file(t, "[mounts.\"/\"]\n")
	h := open(t, path)
	var lost []string
	attach := func(at scope.Path, o Overrides) func() {
		t.Helper()
		_, detach, err := h.Attach(at, o, func(reason string) { lost = append(lost, fmt.Sprintf("%s: %s", at, reason)) })
		if err != nil {
			t.Fatal(err)
		}
		return detach
	}
	reload := func(content string) {
		t.Helper()
		write(t, path, content)
		if changed, err := h.Reload(t.Context()); !changed || err != nil {
			t.Fatalf("Reload = %v, %v", changed, err)
		}
	}
	detach := attach("/a", Overrides{})
	attach("/a/long", Overrides{WaitTimeoutMs: ptr[int64](500000)})
	attach("/b", Overrides{})

	// What is inherited follows the file.
	reload("[mounts.\"/\"]\nwaitTimeoutMs = 9\n")
	if got, want := serving(h.Live, "/a", "/a/long", "/b"), "/a: /a 9, /a/long: /a/long 500000, /b: /b 9"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	reload("[mounts.\"/\"]\nwaitTimeoutMs = 9\nmaxWaitTimeoutMs = 400000\n[mounts.\"/b\"]\nenabled = false\n[mounts.\"/a\"]\nwaitTimeoutMs = 8\n")
	want := []string{
		`/a: the configuration has a mount at "/a" now (` + path + `:6)`,
		`/a/long: waitTimeoutMs (500000) exceeds maxWaitTimeoutMs (400000) in mount "/a/long"`,
	}
	if diff := cmp.Diff(want, lost); diff != "" {
		t.Error(diff)
	}
	if got, want := serving(h.Live, "/a/long", "/b"), "/a/long: /a 8, /b: /b 9"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	detach() // of what is lost: nothing
	reload("[mounts.\"/b\"]\n")
	if len(lost) != 3 || h.State().Errors == nil {
		t.Errorf("lost: %q", lost)
	}
	reload("[mounts.\"/\"]\nenabled = false\n")
	if got, want := serving(h.Live, "/a", "/b", "/"), "/a: none, /b: none, /: none"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestLostWithParent: what was inherited from a mount that is detached falls
// back to the next one above, and a mount that cannot live with that goes too.
func TestLostWithParent(t *testing.T) {
	h := open(t, file(t, "[mounts.\"/\"]\n"))
	_, detach, err := h.Attach("/a", Overrides{MaxWaitTimeoutMs: ptr[int64](1000000)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var reason string
	if _, _, err := h.Attach("/a/b", Overrides{WaitTimeoutMs: ptr[int64](700000)}, func(r string) { reason = r }); err != nil {
		t.Fatal(err)
	}
	detach()
	if want := `waitTimeoutMs (700000) exceeds maxWaitTimeoutMs (600000) in mount "/a/b"`; reason != want {
		t.Errorf("lost: %q, want %q", reason, want)
	}
	// And the other way round: a new one may not cost another its place.
	if _, _, err := h.Attach("/a/b", Overrides{WaitTimeoutMs: ptr[int64](500000)}, nil); err != nil {
		t.Fatal(err)
	}
	_, _, err = h.Attach("/a", Overrides{MaxWaitTimeoutMs: ptr[int64](400000)}, nil)
	if want := `waitTimeoutMs (500000) exceeds maxWaitTimeoutMs (400000) in mount "/a/b"`; err == nil || err.Error() != want {
		t.Errorf("Attach = %v, want %s", err, want)
	}
}

func TestAttachBounded(t *testing.T) {
	h := open(t, file(t, "[mounts.\"/\"]\n"))
	for i := range maxAttached {
		if _, _, err := h.Attach(scope.Path(fmt.Sprint("/", i)), Overrides{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	_, detach, err := h.Attach("/more", Overrides{}, nil)
	if err == nil || detach != nil || err.Error() != "256 mounts of connections are attached: no more are possible" {
		t.Errorf("Attach = %v", err)
	}
}

func TestParseOverrides(t *testing.T) {
	for _, c := range []struct {
		json string
		want Overrides
		err  string
	}{
		{``, Overrides{}, ""},
		{`null`, Overrides{}, ""},
		{`{}`, Overrides{}, ""},
		{`{"waitTimeoutMs": null}`, Overrides{}, ""}, // T105
		{`{"waitTimeoutMs":5,"maxWaitTimeoutMs":1e3,"completionDelivery":"quiet","maxConsecutiveWakes":2.0}`, Overrides{ptr[int64](5), ptr[int64](1000), ptr("quiet"), ptr[int64](2)}, ""},
		{`[]`, Overrides{}, "settings must be an object"},
		{`{} {}`, Overrides{}, "settings must be one object"},
		{`{"enabled":false}`, Overrides{}, `unknown key "enabled" in settings: it belongs in [mounts."/"]`},
		{`{"waitTimeoutms":5, "maxConsecutiveWakes": 2.5}`, Overrides{}, `maxConsecutiveWakes (2.5) must be a whole number of turns, 1 to 9007199254740991; unknown key "waitTimeoutms" in settings: did you mean "waitTimeoutMs"?`},
		{`{"maxConsecutiveWakes": 9007199254740992}`, Overrides{}, `maxConsecutiveWakes (9007199254740992) must be a whole number of turns, 1 to 9007199254740991`},
		{`{"maxConsecutiveWakes": 1e999}`, Overrides{}, `maxConsecutiveWakes ("1e999") must be a whole number of turns, 1 to 9007199254740991`},
		{`{"completionDelivery": {}}`, Overrides{}, `completionDelivery (a table) must be "wakeup" or "quiet"`},
	} {
		got, err := ParseOverrides([]byte(c.json))
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("ParseOverrides(%s) = %v, want %s", c.json, err, c.err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("ParseOverrides(%s): %v %s", c.json, err, diff)
		}
	}
}
