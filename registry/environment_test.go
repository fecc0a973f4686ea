package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestEnvironmentsAreBounded: the environments of all owners together are bounded.
// What is too much is refused and changes nothing, and there is room again when a
// host or an owner goes: without a host nobody starts anything (T13), and the next
// registration brings the environment.
func TestEnvironmentsAreBounded(t *testing.T) {
	w := newWorld(t)
	const each = 2 << 20
	env := map[string]string{"A": strings.Repeat("x", each-3)}
	reg := func(i int) Registration {
		return Registration{Token: tok(fmt.Sprintf("token-%d", i)), Agent: "agent", Session: fmt.Sprint(i), Env: env}
	}
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrLimitReached) || !strings.Contains(err.Error(), "`sidetask owners` lists them") {
			t.Errorf("beyond the bound: %v", err)
		}
	}
	kept := func(want int64) {
		t.Helper()
		w.mu.Lock()
		defer w.mu.Unlock()
		sum := int64(0)
		for _, o := range w.owners {
			sum += envBytes(o.env)
		}
		if w.environments != want || sum != want {
			t.Errorf("%d bytes are counted and %d kept, want %d", w.environments, sum, want)
		}
	}
	const most = maxEnvironments / each
	for i := range most {
		w.register(reg(i), w.host)
	}
	kept(maxEnvironments)
	other := &fakeHost{name: "other"}
	_, err := w.Register(reg(most), other)
	refused(err)
	if n := len(w.Owners()); n != most {
		t.Errorf("%d owners after a registration that was refused, want %d", n, most)
	}
	w.register(reg(0), w.host) // in the place of its own

	poor := reg(most)
	poor.Env = nil
	h := w.register(poor, other)
	refused(w.Update(h, OwnerChange{Env: env}))
	if _, err := w.Dispose(t.Context(), w.register(reg(1), w.host), ""); err != nil {
		t.Fatal(err)
	}
	kept(maxEnvironments - each)
	if err := w.Update(h, OwnerChange{Env: env}); err != nil {
		t.Errorf("with room again: %v", err)
	}
	kept(maxEnvironments)
	w.HostGone(w.host)
	kept(each)

	// An unnamed owner brings its own along when it gets its name.
	w.register(Registration{Token: tok("unnamed"), Agent: "agent", Env: map[string]string{"B": "1"}}, w.host)
	if _, err := w.Bind(t.Context(), Binding{Token: tok("unnamed"), Session: "5"}, w.host); err != nil {
		t.Fatal(err)
	}
	kept(each + 4)
}
