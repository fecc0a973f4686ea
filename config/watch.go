package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Run watches the file and reloads it when it changes, until ctx ends; it
// returns nil then. To be called once. Where the kernel gives no watches, it
// polls, and [State] says so.
func (l *Live) Run(ctx context.Context) error {
	r := &run{live: l, timer: time.NewTimer(0)} // the file may have changed since Open: look at once
	defer r.timer.Stop()
	r.began, r.last = time.Now(), time.Now()
	watcher, err := l.newWatcher()
	if err == nil {
		r.folders = &folders{path: l.path, watcher: watcher, watched: make(map[string]fs.FileInfo)}
		_, err = r.folders.follow()
	}
	if err != nil {
		r.poll(err)
	}
	defer r.close()
	if err := r.say(ctx); err != nil {
		return nil // ctx ended
	}
	for {
		events, errs := r.sources()
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-events:
			if !ok {
				r.poll(errors.New("the watcher ended"))
			} else if r.folders.concerns(e) {
				r.touch()
			}
		case <-errs: // such as an overflow: events were lost
			r.touch()
		case <-r.ticks():
			r.peek()
		case <-r.timer.C:
			r.settle(ctx)
		}
		if err := r.say(ctx); err != nil {
			return nil
		}
	}
}

// run is the state of one [Live.Run]; its goroutine alone uses it.
type run struct {
	live    *Live
	folders *folders     // nil when polling
	ticker  *time.Ticker // nil when not
	polled  content      // what the last tick saw

	mode, said string // of watching; said is what State has
	pending    bool   // something happened that has not been dealt with
	began      time.Time
	last       time.Time // when something happened last
	timer      *time.Timer
}

func (r *run) sources() (<-chan fsnotify.Event, <-chan error) {
	if r.folders == nil {
		return nil, nil
	}
	return r.folders.watcher.Events, r.folders.watcher.Errors
}

func (r *run) ticks() <-chan time.Time {
	if r.ticker == nil {
		return nil
	}
	return r.ticker.C
}

// poll goes over to looking at the file again and again.
func (r *run) poll(reason error) {
	if r.folders != nil {
		r.folders.watcher.Close()
		r.folders = nil
	}
	r.ticker = time.NewTicker(r.live.timing.poll)
	r.mode = fmt.Sprintf("polling (%v)", reason)
	r.touch()
}

func (r *run) close() {
	if r.folders != nil {
		r.folders.watcher.Close()
	}
	if r.ticker != nil {
		r.ticker.Stop()
	}
}

// say puts the way of watching into the state. It fails only when ctx ends.
func (r *run) say(ctx context.Context) error {
	if r.mode == "" {
		r.mode = "inotify"
	}
	if r.mode == r.said {
		return nil
	}
	if err := r.live.take(ctx); err != nil {
		return err
	}
	defer r.live.pass()
	if r.said == "" {
		defer close(r.live.watching)
	}
	r.said = r.mode
	r.live.tell(func(s *State) { s.Watch = r.mode })
	return nil
}

// touch notes that something happened, and postpones the look: a save is many
// events, and a burst of saves is one reload. Not for ever, though.
func (r *run) touch() {
	now := time.Now()
	if !r.pending {
		r.pending, r.began = true, now
	}
	r.last = now
	r.timer.Reset(max(0, min(r.live.timing.quiet, r.began.Add(r.live.timing.most).Sub(now))))
}

// peek looks for a change that nothing tells of.
func (r *run) peek() {
	c := read(r.live.path)
	if !c.same(r.polled) {
		r.touch()
	}
	r.polled = c
}

// settle deals with the file, or postpones that once more if it is in the
// middle of a save. What happens meanwhile is in the kernel's queue.
func (r *run) settle(ctx context.Context) {
	if r.folders != nil {
		if _, err := r.folders.follow(); err != nil {
			r.poll(err)
		}
	}
	if err := r.live.take(ctx); err != nil {
		return
	}
	defer r.live.pass()
	c, again := r.live.look(time.Since(r.last))
	if again > 0 {
		r.began = time.Now() // else each event of a long save would be looked at at once
		r.timer.Reset(again)
		return
	}
	if r.ticker != nil && !c.same(r.polled) && time.Since(r.began) < r.live.timing.most {
		// Only two looks that see the same tell that nothing is happening.
		r.polled = c
		r.touch()
		return
	}
	r.pending = false
	if !c.same(r.live.seen) {
		// deal has told whoever is to know of an error.
		_, _ = r.live.deal(c)
	}
}
