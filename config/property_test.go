package config

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"sidetask/scope"
)

// TestAlwaysOneWholeFile: random edits, valid, broken and half-written, by
// random ways of saving, while others read, reload by hand and attach mounts.
// The settings in force are always those of one whole valid file, and in the
// end those of the last valid one.
func TestAlwaysOneWholeFile(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		d := disk{t, dir}
		chained := rapid.Bool().Draw(r, "behind links")
		if chained {
			d.mkdir("real")
			d.must(os.WriteFile(d.at("real/config.toml"), []byte("# nothing\n"), 0o600))
			d.link("real", "data")
			d.link("data/config.toml", "config.toml")
		}
		h := open(t, d.at("config.toml"))
		if rapid.Bool().Draw(r, "polling") {
			h.exhaust()
		}
		w := &writer{disk: d, chained: chained}
		stop := h.surround(w)
		defer stop()
		for range rapid.IntRange(1, 12).Draw(r, "saves") {
			w.save(rapid.SampledFrom(savers).Draw(r, "way"), rapid.SampledFrom(kinds).Draw(r, "kind"))
		}
		w.save(rapid.SampledFrom(savers).Draw(r, "last way"), valid)
		h.await(int(w.latest.Load()))
		w.save(inPlace, rapid.SampledFrom([]kind{valid, broken, wrong}).Draw(r, "one more"))
		h.settled(w)
	})
}

// kind is what a save brings.
type kind string

const (
	valid   kind = "valid"
	broken  kind = "no TOML"
	wrong   kind = "a value that is not allowed"
	half    kind = "valid, but stands half-written for a while"
	removed kind = "removed"
)

var kinds = []kind{valid, valid, broken, wrong, half, removed}

type saver string

const (
	inPlace  saver = "in place"
	rename   saver = "renamed over"
	vim      saver = "vim"
	relink   saver = "link swapped"
	replaced saver = "folder replaced"
)

var savers = []saver{inPlace, rename, vim, relink, replaced}

// writer saves; latest is the newest version that was ever valid and whole.
type writer struct {
	disk
	chained bool
	n       int
	latest  atomic.Int64
	last    kind
}

// save brings the next version. Versions that are broken or wrong have numbers,
// too, but may never be seen.
func (w *writer) save(how saver, what kind) {
	w.n++
	content := version(w.n)
	w.last = what
	switch what {
	case removed:
		w.remove("config.toml")
		if w.chained { // the link is what a person removes
			w.remove("real/config.toml")
		}
		return
	case broken:
		content = content[:len(content)-10] + "\n= \n"
	case wrong:
		content += "days = 0\n"
	case half:
		f, err := os.OpenFile(w.target(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		w.must(err)
		_, err = f.WriteString(content[:strings.Index(content, "[retention]")])
		w.must(err)
		w.latest.Store(int64(w.n))
		_, err = f.WriteString(content[strings.Index(content, "[retention]"):])
		w.must(err)
		w.must(f.Close())
		return
	default:
		w.latest.Store(int64(w.n))
	}
	w.bring(how, content)
}

// target is the file itself; a removed link is made again.
func (w *writer) target() string {
	if !w.chained {
		return w.at("config.toml")
	}
	if _, err := os.Lstat(w.at("config.toml")); err != nil {
		w.link("data/config.toml", "config.toml")
	}
	return w.at("real/config.toml")
}

func (w *writer) bring(how saver, content string) {
	target := w.target()
	put := func(path string) { w.must(os.WriteFile(path, []byte(content), 0o600)) }
	switch how {
	case inPlace:
		put(target)
	case vim:
		if os.Rename(target, target+"~") == nil {
			defer os.Remove(target + "~")
		}
		put(target)
	case relink, replaced:
		if w.chained {
			w.mkdir("next")
			put(w.at("next/config.toml"))
			if how == relink {
				w.relink("next", "data")
				w.remove("real")
				w.rename("next", "real")
				w.relink("real", "data")
				return
			}
			w.rename("real", "old")
			w.rename("next", "real")
			w.remove("old")
			return
		}
		fallthrough
	case rename:
		put(target + ".tmp")
		w.must(os.Rename(target+".tmp", target))
	}
}

// surround starts Run, readers, reloads by hand and a connection that attaches
// and detaches; stop ends and waits for them.
func (h *house) surround(w *writer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = h.Live.Run(ctx) })
	again := func(f func()) {
		wg.Go(func() {
			for ctx.Err() == nil {
				f()
			}
		})
	}
	again(func() {
		n, mount := versionOf(h.Current()), scope.Path("/some/where")
		if latest := int(w.latest.Load()); n < 0 || n > latest {
			h.t.Errorf("version %d is in force; the newest valid one is %d", n, latest)
			cancel()
		}
		if m, ok := h.Mount(mount); !ok || m.CompletionDelivery != Wakeup {
			h.t.Errorf("mount %+v serves %s", m, mount)
			cancel()
		}
	})
	again(func() { _, _ = h.Reload(ctx) }) // may be refused: the state says so
	again(func() {
		_, detach, err := h.Attach("/some", Overrides{}, nil)
		if err != nil {
			h.t.Errorf("Attach: %v", err)
			cancel()
			return
		}
		detach()
	})
	return func() { cancel(); wg.Wait() }
}

// settled waits until the file as it is has been dealt with, and checks what
// is in force then.
func (h *house) settled(w *writer) {
	h.t.Helper()
	_, err := h.Reload(context.Background())
	if bad := w.last != valid; bad != (err != nil) {
		h.t.Errorf("Reload after a save that is %s = %v", w.last, err)
	}
	if got, want := versionOf(h.Current()), int(w.latest.Load()); got != want {
		h.t.Errorf("version %d is in force in the end, want the last valid one, %d", got, want)
	}
	if got := h.State().Errors; (len(got) > 0) != (err != nil) {
		h.t.Errorf("the state has the errors %q after %v", got, err)
	}
}
