package registry

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestKill pins T37, T38, T41 and T42.
func TestKill(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	changes := 0
	w.OnChange("/", func(Handle) { changes++ })
	var done []Task
	w.OnDone("/", func(t Task) { done = append(done, t) })
	task := w.start(c)
	w.fake.onCancel = func(Row) error {
		if got := w.get(task.ID); changes == 1 && got.Status != Running {
			t.Errorf("cancel is asked after the change: %s", got.Status)
		}
		return nil
	}
	for i, reason := range []*string{nil, text("again")} {
		already, got, err := w.Kill(t.Context(), c, task.ID, reason)
		if already || err != nil || got.Status != Stopping || !got.Reported || changes != i+2 {
			t.Errorf("kill %d = %v, %+v, %v after %d changes", i, already, got, err, changes)
		}
	}
	if diff := cmp.Diff([]string{"<none>", "again"}, w.fake.cancels(task.Row)); diff != "" {
		t.Errorf("reasons are passed as they are: %s", diff)
	}
	w.end(task) // a producer may end completed after a kill
	if len(done) != 1 || done[0].Status != Completed || !done[0].Reported || len(w.Inbox(h)) != 0 || len(w.rung()) != 0 {
		t.Errorf("after a kill: %+v, inbox %v", done, ids(w.Inbox(h)))
	}
}

// TestKillEnded pins T39 and the table: nothing is cancelled, the notice is
// withdrawn, leftovers are ended, output is not consumed.
func TestKillEnded(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	task := w.start(c)
	w.fake.write(task.Row, "out")
	w.fake.of(task.Row).leftovers = 2
	w.end(task)
	already, got, err := w.Kill(t.Context(), AsOperator(), task.ID, nil)
	if !already || err != nil || got.Reported || w.Facts(task).Leftovers != 0 || len(w.Inbox(h)) != 1 {
		t.Errorf("the operator's kill: %v, %+v, %v", already, got, err)
	}
	already, got, err = w.Kill(t.Context(), c, task.ID, nil)
	if !already || err != nil || !got.Reported || len(w.Inbox(h)) != 0 {
		t.Errorf("the owner's kill: %v, %+v, %v", already, got, err)
	}
	if text, _ := w.read(c, task.ID); text != "out" || len(w.fake.cancels(task.Row)) != 0 {
		t.Errorf("read %q, cancels %v", text, w.fake.cancels(task.Row))
	}
}

// TestKillThrows pins T40.
func TestKillThrows(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	task := w.start(c)
	changes := 0
	w.OnChange("/", func(Handle) { changes++ })
	w.fake.onCancel = func(Row) error { return errors.New("cannot") }
	for _, caller := range []Caller{c, AsOperator()} {
		_, _, err := w.Kill(t.Context(), caller, task.ID, nil)
		wantMessage(t, err, ErrProducerFailed, "cannot")
		if got := w.get(task.ID); got.Status != Running || got.Reported || changes != 0 {
			t.Errorf("changed: %+v, %d changes", got, changes)
		}
	}
	w.Settle(task.Row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
	if got := w.Inbox(h); len(got) != 1 || *got[0].Detail != "signal: SIGTERM" {
		t.Errorf("a later end does not notify: %+v", got)
	}
}

// TestKillRace pins T43: an end while the cancel is under way stands, and
// whether it is reported goes by the kill.
func TestKillRace(t *testing.T) {
	for _, k := range []struct {
		name    string
		c       func(Handle) Caller
		fails   error
		notices int
		detail  string
	}{
		{"owner", AsOwner, nil, 0, "signal: SIGTERM"},
		{"owner, cancel throws", AsOwner, errors.New("cannot"), 1, "signal: SIGTERM"},
		{"operator", func(Handle) Caller { return AsOperator() }, nil, 1, "killed by the user"},
	} {
		t.Run(k.name, func(t *testing.T) {
			w := newWorld(t)
			h := w.owner("s")
			rounds := 0
			w.OnDone("/", func(Task) { rounds++ })
			task := w.start(AsOwner(h))
			w.fake.onCancel = func(row Row) error {
				w.Settle(row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
				return k.fails
			}
			already, got, err := w.Kill(t.Context(), k.c(h), task.ID, nil)
			if already || (err != nil) != (k.fails != nil) {
				t.Errorf("Kill = %v, %v", already, err)
			}
			if err == nil && got.Status != Killed {
				t.Errorf("the end was overwritten: %s", got.Status)
			}
			got = w.get(task.ID)
			if *got.Detail != k.detail || len(w.Inbox(h)) != k.notices || len(w.rung()) != k.notices || rounds != 1 {
				t.Errorf("%s, %d notices, %d rounds", *got.Detail, len(w.Inbox(h)), rounds)
			}
		})
	}
}

// TestKillByUser pins the table's B16: a task that the person killed gives its
// owner a notice, also over a restart; one that its owner had killed first
// does not, and keeps its producer's detail.
func TestKillByUser(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	kill := func(c Caller, task Task) {
		t.Helper()
		if _, _, err := w.Kill(t.Context(), c, task.ID, nil); err != nil {
			t.Fatal(err)
		}
	}
	killed, ended, own := w.start(c), w.start(c), w.start(c)
	kill(AsOperator(), killed)
	kill(AsOperator(), ended)
	kill(c, own)
	kill(AsOperator(), own)
	if got := w.get(killed.ID); got.Status != Stopping || got.Reported {
		t.Errorf("%+v", got)
	}
	w.restart()
	for _, task := range []Task{killed, own} {
		w.Settle(task.Row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
	}
	w.end(ended)
	var lines []string
	for _, task := range w.List(c, true) {
		lines = append(lines, task.ID+" "+string(task.Status)+" "+*task.Detail)
	}
	if diff := cmp.Diff([]string{"bash-1 killed killed by the user", "bash-2 completed exit code: 0", "bash-3 killed signal: SIGTERM"}, lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"bash-1", "bash-2"}, ids(w.Inbox(h))); diff != "" {
		t.Error(diff)
	}
}

// TestKillOnFullDisk: a kill whose record is refused counts all the same, for
// the work is asked to end; it is recorded as soon as the store writes again.
func TestKillOnFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		c := AsOwner(h)
		own, users, both, ended, quiet := w.start(c), w.start(c), w.start(c), w.start(c), w.start(c)
		w.end(ended)
		w.rung()
		full := errors.New("no space left")
		w.store.refusing(full)
		kill := func(c Caller, task Task, want Status) {
			t.Helper()
			if _, got, err := w.Kill(t.Context(), c, task.ID, nil); err != nil || got.Status != want || got.Reported != (c != AsOperator()) {
				t.Errorf("kill of %s: %+v, %v", task.ID, got, err)
			}
		}
		kill(c, own, Stopping)
		kill(c, own, Stopping)
		kill(AsOperator(), users, Stopping)
		kill(c, both, Stopping)
		kill(c, ended, Completed)
		if _, got, err := w.Kill(t.Context(), AsOperator(), both.ID, nil); err != nil || got.Status != Stopping || !got.Reported {
			t.Errorf("the operator's kill after the owner's: %+v, %v", got, err)
		}
		if err := w.Trouble(); !errors.Is(err, full) {
			t.Errorf("Trouble = %v", err)
		}
		for _, task := range []Task{own, users, both} {
			w.Settle(task.Row, Outcome{Status: Killed, Detail: text("signal: SIGTERM")})
		}
		kill(AsOperator(), quiet, Stopping)
		time.Sleep(5 * retryAfter)
		if len(w.rung()) != 0 {
			t.Error("somebody was rung for its own kill")
		}
		w.store.refusing(nil)
		time.Sleep(retryAfter)
		synctest.Wait()
		var lines []string
		for _, task := range w.List(c, true) {
			line := task.ID + " " + string(task.Status)
			if task.Detail != nil {
				line += " " + *task.Detail
			}
			lines = append(lines, line)
		}
		want := []string{"bash-1 killed signal: SIGTERM", "bash-2 killed killed by the user", "bash-3 killed signal: SIGTERM", "bash-4 completed exit code: 0", "bash-5 stopping"}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{users.ID}, ids(w.Inbox(h))); diff != "" || w.Trouble() != nil {
			t.Errorf("notices %s, trouble %v", diff, w.Trouble())
		}
		w.consistent()
	})
}
