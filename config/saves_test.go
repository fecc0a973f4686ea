package config

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestWaysOfSaving pins CONFIG.md "Reload comes by watching", watched and
// polled, each way with the files as they are left by the ones before.
func TestWaysOfSaving(t *testing.T) {
	for _, w := range ways {
		for _, mode := range []string{"inotify", "polling"} {
			t.Run(w.name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				d := disk{t, t.TempDir()}
				w.setUp(d)
				h := open(t, d.at(w.path))
				if mode == "polling" {
					h.exhaust()
				}
				h.run()
				for i, step := range w.steps {
					step(d, i+2)
					h.await(i + 2)
				}
				// Removed: the defaults; and back again.
				d.remove(w.path)
				h.await(0)
				d.write(w.path, 99)
				h.await(99)
			})
		}
	}
}

// TestBurst pins CONFIG.md: a burst is one reload. FIELD: the last one wins.
func TestBurst(t *testing.T) {
	for _, mode := range []string{"inotify", "polling"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			d := disk{t, t.TempDir()}
			d.write("config.toml", 1)
			h := open(t, d.at("config.toml"))
			h.timing.quiet, h.timing.most = 3*time.Second, time.Hour
			if mode == "polling" {
				h.exhaust()
			}
			h.run()
			n := 1
			burst := func() (took time.Duration) {
				began := time.Now()
				for range 149 {
					n++
					ways[n%3].steps[0](d, n)
				}
				n++
				d.write("config.toml", n)
				return time.Since(began)
			}
			for burst() >= h.timing.quiet { // with a gap that may have been that long, it was no burst
				h.await(n)
			}
			select {
			case first := <-h.commits:
				if first != n {
					t.Errorf("of 150 saves in a burst up to number %d number %d was taken, want the last one alone", n, first)
				}
			case <-time.After(deadMan):
				t.Fatal("no reload")
			}
		})
	}
}

// TestEndlessSaves: a file that never comes to rest is looked at nevertheless.
func TestEndlessSaves(t *testing.T) {
	d := disk{t, t.TempDir()}
	d.write("config.toml", 1)
	h := open(t, d.at("config.toml"))
	h.timing.quiet, h.timing.most = time.Hour, 100*time.Millisecond
	h.run()
	dead := time.After(deadMan)
	for n := 2; ; n++ {
		d.write("tmp", n)
		d.rename("tmp", "config.toml")
		select {
		case <-h.commits:
			return
		case <-dead:
			t.Fatal("never looked at")
		default:
		}
	}
}

// TestSiblings pins FIELD "sibling-file events reset the debounce for ever".
func TestSiblings(t *testing.T) {
	d := disk{t, t.TempDir()}
	d.write("config.toml", 1)
	h := open(t, d.at("config.toml"))
	h.timing.most = time.Hour // so that the noise would starve the reload if it counted
	h.run()
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := d.at(fmt.Sprint("noise", i%5))
			if os.WriteFile(name, []byte("x"), 0o600) != nil || os.Rename(name, name+".log") != nil || os.Remove(name+".log") != nil {
				t.Error("no noise")
				return
			}
		}
	}()
	for n := 2; n < 6; n++ {
		d.write("config.toml", n)
		h.await(n)
	}
	close(stop)
	<-done
}
