package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// In these tests the clock is synctest's and moves only when everybody waits:
// real files, the usual timing, no dependence on speed. The kernel's events
// cannot be had there, so it polls; what follows a change is the same.
func inBubble(t *testing.T, content string, test func(t *testing.T, h *house, path string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "config.toml")
		if content != "" {
			write(t, path, content)
		}
		h := open(t, path)
		h.timing = usual
		h.exhaust()
		h.run()
		time.Sleep(2 * time.Second) // whatever there is to settle at the start
		test(t, h, path)
	})
}

func (h *house) inForce(want int) {
	h.t.Helper()
	synctest.Wait()
	if got := versionOf(h.Current()); got != want {
		h.t.Errorf("version %d is in force, want %d", got, want)
	}
}

// TestSoon: a save is in force within a second, yet not before it is at rest.
func TestSoon(t *testing.T) {
	inBubble(t, version(1), func(t *testing.T, h *house, path string) {
		write(t, path, version(2))
		time.Sleep(90 * time.Millisecond)
		h.inForce(1)
		time.Sleep(310 * time.Millisecond)
		h.inForce(2)
	})
}

// TestAtRest: nothing is taken while saves follow each other, but for the
// maximum: then a stream of saves does not hold up what is saved.
func TestAtRest(t *testing.T) {
	inBubble(t, version(1), func(t *testing.T, h *house, path string) {
		n := 1
		save := func() {
			n++
			write(t, path, version(n))
			time.Sleep(60 * time.Millisecond)
		}
		for began := time.Now(); time.Since(began) < usual.most-100*time.Millisecond; {
			save()
		}
		h.inForce(1)
		// A look that meets a save is postponed, so this may be more than usual.most.
		for began := time.Now(); len(h.commits) == 0; {
			if time.Since(began) > time.Minute {
				t.Fatal("an endless stream of saves is never looked at")
			}
			save()
		}
		time.Sleep(time.Second)
		h.inForce(n)
	})
}

// TestEmptyInBetween pins CONFIG.md: an empty file within a save is never
// applied nor complained of; one that stays empty is an error.
func TestEmptyInBetween(t *testing.T) {
	inBubble(t, version(1), func(t *testing.T, h *house, path string) {
		write(t, path, "")
		time.Sleep(400 * time.Millisecond)
		write(t, path, version(2))
		time.Sleep(time.Second)
		h.inForce(2)
		if n := h.log.count("refused"); n != 0 {
			t.Error("an empty file within a save was complained of")
		}
		write(t, path, "")
		time.Sleep(time.Second)
		h.inForce(2)
		want := path + ":1:1: the file is empty: remove it to have the defaults, or write settings into it (sidetask config init shows all)"
		if got := h.State().Errors; len(got) != 1 || got[0] != want {
			t.Errorf("errors = %q, want %s", got, want)
		}
	})
}

// TestGoneInBetween: a file that is away for a moment does not bring the
// defaults; one that stays away does.
func TestGoneInBetween(t *testing.T) {
	inBubble(t, version(1), func(t *testing.T, h *house, path string) {
		remove(t, path)
		time.Sleep(400 * time.Millisecond)
		write(t, path, version(2))
		time.Sleep(time.Second)
		h.inForce(2)
		if n := len(h.commits); n != 1 {
			t.Errorf("%d changes came into force, want one", n)
		}
		remove(t, path)
		time.Sleep(time.Second)
		h.inForce(0)
		if h.State().Present {
			t.Error("the file is said to be there")
		}
	})
}

// TestAstrayInBetween: as long as links are being swapped, one that leads
// nowhere is not complained of; afterwards it is.
func TestAstrayInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := disk{t, t.TempDir()}
		d.write("v1", 1)
		d.write("v2", 2)
		d.link("v1", "config.toml")
		h := open(t, d.at("config.toml"))
		h.timing = usual
		h.exhaust()
		h.run()
		d.relink("v2.new", "config.toml")
		time.Sleep(400 * time.Millisecond)
		d.rename("v2", "v2.new")
		time.Sleep(time.Second)
		h.inForce(2)
		if n := h.log.count("refused"); n != 0 {
			t.Error("a link that is about to lead somewhere was complained of")
		}
		d.remove("v2.new")
		time.Sleep(time.Second)
		h.inForce(2)
		want := fmt.Sprintf("%s: cannot be read: the symbolic link %[1]s leads to a file that does not exist", d.at("config.toml"))
		if got := h.State().Errors; len(got) != 1 || got[0] != want {
			t.Errorf("errors = %q, want %s", got, want)
		}
	})
}

// TestSlowWriter: a file that is being written is waited for, as long as it
// takes, up to 10 s of nothing happening.
func TestSlowWriter(t *testing.T) {
	inBubble(t, version(1), func(t *testing.T, h *house, path string) {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, c := range version(2) { // the first lines alone are valid, too
			if _, err := f.WriteString(string(c)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Millisecond)
			h.inForce(1)
		}
		f.Close()
		time.Sleep(time.Second)
		h.inForce(2)
		if n := h.log.count("refused"); n != 0 {
			t.Error("a half-written file was complained of")
		}

		// A program that keeps the file open for ever does not end reloading.
		f, err = os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		write(t, path, version(3))
		time.Sleep(9 * time.Second)
		h.inForce(2)
		time.Sleep(2 * time.Second)
		h.inForce(3)
	})
}

// TestReloadWaits: by hand, too, a save in progress is waited for; and what
// has been gone for long is not.
func TestReloadWaits(t *testing.T) {
	inBubble(t, version(1), func(t *testing.T, h *house, path string) {
		write(t, path, "")
		go func() {
			time.Sleep(300 * time.Millisecond)
			write(t, path, version(2))
		}()
		if changed, err := h.Reload(t.Context()); !changed || err != nil {
			t.Errorf("Reload = %v, %v; want a change", changed, err)
		}
		h.inForce(2)
		remove(t, path)
		time.Sleep(2 * time.Second)
		began := time.Now()
		if changed, err := h.Reload(t.Context()); changed || err != nil || time.Since(began) != 0 {
			t.Errorf("Reload = %v, %v after %v; want no change at once", changed, err, time.Since(began))
		}
	})
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
