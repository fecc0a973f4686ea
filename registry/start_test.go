package registry

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStartOrder pins T8 to T13, T16 and T97: the first failure in the fixed
// order decides, run is not called, and no id is burned.
func TestStartOrder(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	bad := Spec{Kind: "", Label: "", OutputLimit: 0.5, Producer: "fake"}
	w.unserved = append(w.unserved, "/")
	w.limit = 0
	w.HostGone(w.host)
	for _, step := range []struct {
		fix     func()
		kind    *Error
		message string
	}{
		{func() {}, ErrNoController, "background tasks unavailable: no task controller serves this agent"},
		{func() { w.unserved = nil }, ErrInvalid, "invalid task kind: expected a non-empty string"},
		{func() { bad.Kind = " " }, ErrInvalid, "invalid task label: expected a non-empty string"},
		{func() { bad.Label = "\t" }, ErrInvalid, "invalid outputLimitBytes: expected a positive safe integer, got 0.5"},
		{func() { bad.OutputLimit = nil }, ErrOwnerGone, "the editor's connection is not back yet; retry"},
		{func() { w.owner("s") }, ErrLimitReached, "background task limit reached for this owner (limit: 0); use task_kill to stop an unneeded task, wait for it to finish, then retry"},
	} {
		step.fix()
		_, err := w.Start(t.Context(), c, bad, func(Row) error { t.Error("run was called"); return nil })
		wantMessage(t, err, step.kind, step.message)
	}
	w.limit = 1
	task, err := w.Start(t.Context(), c, bad, func(Row) error { return nil })
	if err != nil || task.ID != " -1" {
		t.Errorf("Start = %q, %v; want the first id of its kind (T10: white space is a name)", task.ID, err)
	}
}

// TestOutputLimit pins T11.
func TestOutputLimit(t *testing.T) {
	for _, c := range []struct {
		v    any
		want int64
		got  string
	}{
		{nil, 0, ""},
		{1, 1, ""},
		{int64(1<<53 - 1), 1<<53 - 1, ""},
		{json.RawMessage("64"), 64, ""},
		{json.RawMessage("6.4e1"), 64, ""},
		{float64(1 << 53), 0, "9007199254740992"},
		{0, 0, "0"},
		{-1, 0, "-1"},
		{2.5, 0, "2.5"},
		{math.NaN(), 0, "null"},
		{math.Inf(1), 0, "null"},
		{"64", 0, `"64"`},
		{json.RawMessage(`"64"`), 0, `"64"`},
		{json.RawMessage(`null`), 0, "null"},
		{json.RawMessage(`true`), 0, "true"},
		{json.RawMessage(`-0`), 0, "0"},
	} {
		got, err := outputLimit(c.v)
		if c.got == "" {
			if got != c.want || err != nil {
				t.Errorf("outputLimit(%v) = %d, %v; want %d", c.v, got, err, c.want)
			}
			continue
		}
		wantMessage(t, err, ErrInvalid, "invalid outputLimitBytes: expected a positive safe integer, got "+c.got)
	}
}

// TestStartNothing pins T15 and T20: a run that fails leaves nothing, its
// error comes back unchanged, and the next start gets the next id.
func TestStartNothing(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	changes := 0
	w.OnChange("/", func(Handle) { changes++ })
	seq := w.seq
	boom := errors.New("boom")
	if _, err := w.Start(t.Context(), c, spec(), func(Row) error { return boom }); err != boom {
		t.Errorf("Start = %v, want the very error of run", err)
	}
	if changes != 0 || w.seq != seq || len(w.rows) != 0 || len(w.store.tasks) != 0 {
		t.Errorf("left: %d changes, seq %d (was %d), %d rows, %d stored", changes, w.seq, seq, len(w.rows), len(w.store.tasks))
	}
	if got := w.start(c).ID; got != "bash-1" {
		t.Errorf("first id is %s", got)
	}
	other := spec()
	other.Kind = "pty-send"
	task, err := w.Start(t.Context(), AsOwner(w.owner("s2")), other, func(Row) error { return nil })
	if err != nil || task.ID != "pty-send-1" {
		t.Errorf("an id of another kind is %s, %v", task.ID, err)
	}
	if got := w.start(AsOwner(w.owner("s2"))).ID; got != "bash-2" {
		t.Errorf("ids are shared by all owners: got %s", got)
	}
}

// TestStartCommit pins T17 and T100: the row is durable before run, the task
// is readable when the change listener runs, and reported is false.
func TestStartCommit(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	heard := []string{}
	w.OnChange("/", func(changed Handle) { heard = append(heard, string(changed)+" "+w.List(AsOwner(h), false)[0].ID) })
	task, err := w.Start(t.Context(), AsOwner(h), spec(), func(row Row) error {
		if kept := w.store.tasks[row]; !kept.Starting || kept.ID != "" {
			t.Errorf("at run the store has %+v", kept)
		}
		if n := len(w.List(AsOwner(h), true)); n != 0 {
			t.Errorf("a starting row is listed")
		}
		return nil
	})
	if err != nil || task.Status != Running || task.Reported || task.FinishedAt != 0 {
		t.Errorf("Start = %+v, %v", task, err)
	}
	if diff := cmp.Diff([]string{string(h) + " bash-1"}, heard); diff != "" {
		t.Error(diff)
	}
}

// TestSettleDuringStart pins T66: an end that comes while the start is under
// way is committed after the id.
func TestSettleDuringStart(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	var done []Task
	w.OnDone("/", func(t Task) { done = append(done, t) })
	task, err := w.Start(t.Context(), c, spec(), func(row Row) error {
		w.Settle(row, Outcome{Status: Completed})
		w.Settle(row, Outcome{Status: Failed})
		if len(done) != 0 {
			t.Error("settled inside start")
		}
		return nil
	})
	if err != nil || task.Status != Running {
		t.Errorf("Start = %s, %v; the snapshot is that of the registration", task.Status, err)
	}
	if len(done) != 1 || done[0].ID != "bash-1" || done[0].Status != Completed {
		t.Errorf("completions: %+v", done)
	}
}

// TestLimit pins T96 to T98: starting, running and stopping count, one bucket
// for all unowned tasks, none for the operator.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	w.limit = 1
	c := AsOwner(w.owner("s"))
	_, err := w.Start(t.Context(), c, spec(), func(Row) error {
		_, err := w.Start(t.Context(), c, spec(), func(Row) error { return nil })
		return err
	})
	if !errors.Is(err, ErrLimitReached) {
		t.Errorf("a starting row does not occupy: %v", err)
	}
	task := w.start(c)
	if _, _, err := w.Kill(t.Context(), c, task.ID, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(t.Context(), c, spec(), func(Row) error { return nil }); !errors.Is(err, ErrLimitReached) {
		t.Errorf("a stopping task does not occupy: %v", err)
	}
	w.end(task)
	w.start(c)

	shared := spec()
	shared.Shared = true
	if _, err := w.Start(t.Context(), AsOperator(), shared, func(Row) error { return nil }); err != nil {
		t.Error(err)
	}
	if _, err := w.Start(t.Context(), AsOperator(), shared, func(Row) error { return nil }); !errors.Is(err, ErrLimitReached) {
		t.Errorf("unowned tasks have no bucket: %v", err)
	}
	if _, err := w.Start(t.Context(), c, shared, func(Row) error { return nil }); !errors.Is(err, ErrUnauthorized) {
		t.Errorf("an agent started an unowned task: %v", err)
	}
	w.start(AsOperator())
	w.start(AsOperator())
}

// TestStartKey: the same key of the same owner gives the same task, also while
// the first start is under way; another owner's key is another.
func TestStartKey(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	keyed := spec()
	keyed.Key = "k"
	inside, second := make(chan struct{}), make(chan Task)
	go func() {
		<-inside
		task, err := w.Start(t.Context(), c, keyed, func(Row) error { t.Error("ran twice"); return nil })
		if err != nil {
			t.Error(err)
		}
		second <- task
	}()
	first, err := w.Start(t.Context(), c, keyed, func(Row) error { close(inside); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if again := <-second; again.ID != first.ID {
		t.Errorf("the same key gave %s and %s", first.ID, again.ID)
	}
	w.end(first)
	w.restart()
	w.owner("s")
	again, err := w.Start(t.Context(), c, keyed, func(Row) error { t.Error("ran again after a restart"); return nil })
	if err != nil || again.ID != first.ID || again.Status != Completed {
		t.Errorf("after a restart the key gave %+v, %v", again, err)
	}
	other, err := w.Start(t.Context(), AsOwner(w.owner("s2")), keyed, func(Row) error { return nil })
	if err != nil || other.ID == first.ID {
		t.Errorf("another owner's key gave %s, %v", other.ID, err)
	}
}

// TestStartUnrecorded: work that runs but cannot be recorded is cancelled,
// keeps its slot until it has ended, and is then forgotten.
func TestStartUnrecorded(t *testing.T) {
	w := newWorld(t)
	w.limit = 1
	c := AsOwner(w.owner("s"))
	full := errors.New("no space left")
	var row Row
	_, err := w.Start(t.Context(), c, spec(), func(r Row) error {
		row = r
		w.store.refusing(full)
		return nil
	})
	if !errors.Is(err, full) || len(w.fake.cancels(row)) != 1 {
		t.Errorf("Start = %v, cancels %q; want the store's error and one cancel", err, w.fake.cancels(row))
	}
	w.store.refusing(nil)
	if _, err := w.Start(t.Context(), c, spec(), func(Row) error { return nil }); !errors.Is(err, ErrLimitReached) {
		t.Errorf("the slot was free at once: %v", err)
	}
	w.Settle(row, Outcome{Status: Killed})
	if len(w.rows) != 0 || len(w.store.tasks) != 0 {
		t.Errorf("left: %d rows, %d stored", len(w.rows), len(w.store.tasks))
	}
	if got := w.start(c).ID; got != "bash-1" {
		t.Errorf("the next id is %s; a failed start burns none", got)
	}
	w.close()
	if !w.fake.of(row).removed {
		t.Error("what its producer kept is left")
	}
}

// TestByRow: a command that knows its row alone finds its task, also while its
// start is still under way.
func TestByRow(t *testing.T) {
	w := newWorld(t)
	h, other := w.owner("s"), w.owner("other")
	found := make(chan Task, 1)
	task, err := w.Start(t.Context(), AsOwner(h), spec(), func(row Row) error {
		go func() {
			task, err := w.ByRow(t.Context(), AsOperator(), row)
			if err != nil {
				t.Error(err)
			}
			found <- task
		}()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-found; got.ID != task.ID {
		t.Errorf("ByRow = %+v", got)
	}
	if _, err := w.ByRow(t.Context(), AsOwner(other), task.Row); !errors.Is(err, ErrForeignTask) {
		t.Errorf("another owner: %v", err)
	}
	_, err = w.ByRow(t.Context(), AsOperator(), 99)
	wantMessage(t, err, ErrUnknownTask, "unknown task 99")
}
