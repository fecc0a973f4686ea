package registry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
		unnamed := w.register(Registration{Token: tok("t2")}, w.host)
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
