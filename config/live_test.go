package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fsnotify/fsnotify"
)

func TestBadFileAtStart(t *testing.T) {
	path := file(t, "[limits]\nmaxConnections = 0\n")
	l, err := Open(path, slog.New(slog.DiscardHandler))
	var all Errors
	if l != nil || !errors.As(err, &all) || len(all) != 1 || all[0].Line != 2 {
		t.Errorf("Open = %v, %v; want the error of line 2", l, err)
	}
}

// TestBadFile pins CONFIG.md: while running a bad file changes nothing; its
// message is logged once, kept, and told to listeners, until it is mended.
func TestBadFile(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	h.run()
	want := path + `:2:1: maxConnections (0) must be a whole number of connections, 1 to 65536`
	bad := "[limits]\nmaxConnections = 0\n"

	write(t, path, bad)
	s := h.until(func(s State) bool { return len(s.Errors) > 0 })
	if len(s.Errors) != 1 || s.Errors[0] != want || !s.Present {
		t.Errorf("state = %+v, want the error %s", s, want)
	}
	for range 3 { // by hand, and saved again with the same mistake
		if changed, err := h.Reload(t.Context()); changed || err == nil || err.Error() != want {
			t.Errorf("Reload = %v, %v; want %s", changed, err, want)
		}
		bad += "\n"
		write(t, path, bad)
	}
	if n := versionOf(h.Current()); n != 1 {
		t.Errorf("version %d is in force, want 1", n)
	}
	if n := h.log.count("configuration refused"); n != 1 {
		t.Errorf("the refusal is logged %d times, want once", n)
	}
	write(t, path, version(2))
	h.await(2)
	if s := h.until(func(s State) bool { return len(s.Errors) == 0 }); s.Path != path {
		t.Errorf("state = %+v", s)
	}

	// Mended to what was in force all the time: no change, but no error either.
	write(t, path, "= 1")
	h.until(func(s State) bool { return len(s.Errors) == 1 })
	write(t, path, version(2))
	h.until(func(s State) bool { return len(s.Errors) == 0 })
	if len(h.commits) != 0 {
		t.Error("equal settings were committed")
	}
}

// TestEqual pins CONFIG.md: nothing happens when the resolved settings are
// equal; but the origins are those of the file as it is now.
func TestEqual(t *testing.T) {
	path := file(t, version(7))
	h := open(t, path)
	h.OnMounts(func() { t.Error("the mounts are said to have changed") })
	write(t, path, "# moved down\n\n"+version(7))
	if changed, err := h.Reload(t.Context()); changed || err != nil {
		t.Errorf("Reload = %v, %v; want no change", changed, err)
	}
	if len(h.commits) != 0 || len(h.states) != 0 {
		t.Error("equal settings were told")
	}
	for _, s := range h.Settings() {
		if s.Key == "limits.maxConnections" && s.Origin != path+":4" {
			t.Errorf("maxConnections comes from %s, want line 4", s.Origin)
		}
	}
}

// TestVerify pins CONFIG.md "verify, then swap": every subscriber is asked,
// all refusals are told, and nothing changes unless all agree.
func TestVerify(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	var asked []int
	refusal := errors.New("cannot have that many connections")
	_, cancel := h.Subscribe(func(old, next *Settings) error {
		if old != h.Current() || next == h.Current() {
			t.Error("verify is not asked before the swap")
		}
		asked = append(asked, versionOf(next))
		return refusal
	}, func(_, _ *Settings) { t.Error("a refused change was committed") })
	_, cancel2 := h.Subscribe(func(_, _ *Settings) error { return errors.New("neither can I") }, nil)

	write(t, path, version(2))
	changed, err := h.Reload(t.Context())
	want := path + ": cannot have that many connections\n" + path + ": neither can I"
	if changed || err == nil || err.Error() != want {
		t.Errorf("Reload = %v, %v; want %s", changed, err, want)
	}
	if n := versionOf(h.Current()); n != 1 || len(asked) != 1 || asked[0] != 2 {
		t.Errorf("version %d is in force, asked for %v", n, asked)
	}
	if s := h.State(); len(s.Errors) != 2 {
		t.Errorf("the state has %q", s.Errors)
	}
	cancel2()
	cancel()
	cancel()
	if changed, err := h.Reload(t.Context()); !changed || err != nil { // the same bytes: by hand they are tried again
		t.Errorf("Reload = %v, %v; want a change", changed, err)
	}
	h.await(2)
}

// TestSubscribeInBetween: who subscribes during a reload is asked, too, or
// gets the new settings at once. Nobody misses a change.
func TestSubscribeInBetween(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	var late []string
	h.Subscribe(func(_, _ *Settings) error {
		current, _ := h.Subscribe(
			func(_, next *Settings) error { late = append(late, fmt.Sprint("verify ", versionOf(next))); return nil },
			func(_, next *Settings) { late = append(late, fmt.Sprint("commit ", versionOf(next))) })
		late = append(late, fmt.Sprint("current ", versionOf(current)))
		return nil
	}, func(_, _ *Settings) {
		current, _ := h.Subscribe(nil, func(_, _ *Settings) { t.Error("told of what it had") })
		late = append(late, fmt.Sprint("current ", versionOf(current)))
	})
	write(t, path, version(2))
	if _, err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(late, ", "), "current 1, verify 2, current 2, commit 2"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// TestEventDuringReload pins FIELD "an event during a reload is dropped".
func TestEventDuringReload(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	inside, goOn := make(chan bool), make(chan bool)
	var once sync.Once
	h.Subscribe(func(_, _ *Settings) error {
		once.Do(func() { inside <- true; <-goOn })
		return nil
	}, nil)
	h.run()
	write(t, path, version(2))
	<-inside
	write(t, path, version(3))
	goOn <- true
	h.await(2)
	h.await(3)
}

// TestReloadEnds: a reload by hand ends with its context when another one
// takes its time.
func TestReloadEnds(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	var inner error
	h.Subscribe(func(_, _ *Settings) error {
		cancel()
		_, inner = h.Reload(ctx)
		return nil
	}, nil)
	write(t, path, version(2))
	if _, err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(inner, context.Canceled) {
		t.Errorf("the reload within a reload = %v, want context.Canceled", inner)
	}
}

// TestHalfWritten pins CONFIG.md: a half-written file within a save is never
// applied, be what stands there valid or not, as long as it is being written.
func TestHalfWritten(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	h.run()
	for n, half := range map[int]string{2: "[limits]\nmaxConnections = 77\n", 3: "[limits]\nmaxConn", 4: "", 5: " \n"} {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(half); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*quick.gone)
		if _, err := h.Reload(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Reload of the half %q = %v, want to wait for the rest", half, err)
		}
		cancel()
		if got := h.State().Errors; len(got) != 0 || len(h.commits) != 0 {
			t.Errorf("the half %q was taken: %q", half, got)
		}
		if _, err := f.WriteAt([]byte(version(n)), 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
		h.await(n)
	}
}

// TestExhausted pins FIELD "inotify instances exhausted → reload disabled for
// ever": it polls, and says so.
func TestExhausted(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	h.exhaust()
	h.run()
	if got, want := h.State().Watch, "polling (no inotify instance: too many open files)"; got != want {
		t.Errorf("watch = %q, want %q", got, want)
	}
	write(t, path, version(2))
	h.await(2)
}

// TestNoWatches: an instance was to be had, but no watch.
func TestNoWatches(t *testing.T) {
	path := file(t, version(1))
	h := open(t, path)
	h.newWatcher = func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		if err == nil {
			err = w.Close() // so that Add fails
		}
		return w, err
	}
	h.run()
	if got := h.State().Watch; !strings.HasPrefix(got, "polling (no inotify watch on /") {
		t.Errorf("watch = %q, want polling", got)
	}
	write(t, path, version(2))
	h.await(2)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	h.await(0)
}

// TestBetweenOpenAndRun: a change before the watches are there is not missed.
func TestBetweenOpenAndRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	h := open(t, path)
	write(t, path, version(2))
	h.run()
	h.await(2)
}
