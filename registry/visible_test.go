package registry

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVisibility pins T24 to T30: unknown before foreign, own and unowned in
// the order of registration, nothing changed by looking.
func TestVisibility(t *testing.T) {
	w := newWorld(t)
	a, b := AsOwner(w.owner("a")), AsOwner(w.owner("b"))
	shared := spec()
	shared.Shared = true
	start := func(c Caller, s Spec) Task {
		task, err := w.Start(t.Context(), c, s, func(Row) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return task
	}
	start(a, spec())            // bash-1
	start(AsOperator(), shared) // bash-2
	start(b, spec())            // bash-3
	last := start(a, spec())    // bash-4
	start(AsOperator(), spec()) // bash-5
	ended := start(a, spec())   // bash-6
	w.end(ended)
	commits := w.store.count
	for _, k := range []struct {
		c    Caller
		all  bool
		want []string
	}{
		{a, false, []string{"bash-1", "bash-2", "bash-4"}},
		{a, true, []string{"bash-1", "bash-2", "bash-4", "bash-6"}},
		{b, true, []string{"bash-2", "bash-3"}},
		{AsOwner("o-99"), true, []string{"bash-2"}},
		{AsOperator(), false, []string{"bash-1", "bash-2", "bash-3", "bash-4", "bash-5"}},
		{AsOperator(), true, []string{"bash-1", "bash-2", "bash-3", "bash-4", "bash-5", "bash-6"}},
	} {
		if diff := cmp.Diff(k.want, ids(w.List(k.c, k.all))); diff != "" {
			t.Errorf("%v, all %v: %s", k.c, k.all, diff)
		}
	}
	for _, c := range []Caller{b, AsOwner("o-99")} {
		for name, call := range w.calls(c) {
			t.Run(name, func(t *testing.T) {
				wantMessage(t, call("bash-99"), ErrUnknownTask, "unknown task bash-99")
				wantMessage(t, call(""), ErrUnknownTask, "unknown task ")
				wantMessage(t, call(last.ID), ErrForeignTask, "task bash-4 belongs to another session")
			})
		}
	}
	if _, err := w.Get(b, "bash-2"); err != nil {
		t.Errorf("an unowned task is not open: %v (T29)", err)
	}
	if w.store.count != commits {
		t.Errorf("looking made %d commits (T26)", w.store.count-commits)
	}
	if _, err := w.Write(t.Context(), a, ended.ID, WriteRequest{Data: []byte("x")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("input for an ended task: %v", err)
	}
	tailed, err := w.Tail(t.Context(), a, ended.ID, TailRequest{})
	if err != nil || !tailed.EOF {
		t.Errorf("Tail = %+v, %v", tailed, err)
	}
}

// TestIDs pins T6, T20, T22 and T23: kinds are anybody's, ids count per kind
// and can be guessed; the owner check is the fence.
func TestIDs(t *testing.T) {
	w := newWorld(t)
	a, b := AsOwner(w.owner("a")), AsOwner(w.owner("b"))
	for _, kind := range []string{"bash", "pty-send", "bash", "ünï", "pty-send"} {
		s := spec()
		s.Kind = kind
		if _, err := w.Start(t.Context(), a, s, func(Row) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"bash-1", "pty-send-1", "bash-2", "ünï-1", "pty-send-2"}, ids(w.List(a, false))); diff != "" {
		t.Error(diff)
	}
	if _, err := w.Get(b, "pty-send-2"); !errors.Is(err, ErrForeignTask) {
		t.Errorf("a guessed id: %v", err)
	}
}

// TestSnapshots pins T4: a snapshot is a value.
func TestSnapshots(t *testing.T) {
	w := newWorld(t)
	task := w.start(AsOwner(w.owner("s")))
	before := task
	w.end(task)
	if diff := cmp.Diff(before, task); diff != "" {
		t.Error(diff)
	}
	if got := w.get(task.ID); got.FinishedAt < got.StartedAt || *got.Detail != "exit code: 0" {
		t.Errorf("%+v", got)
	}
}

// calls are all that touch one task.
func (w *world) calls(c Caller) map[string]func(id string) error {
	ctx := w.t.Context()
	return map[string]func(id string) error{
		"get":   func(id string) error { _, err := w.Get(c, id); return err },
		"read":  func(id string) error { _, _, _, err := w.Read(ctx, c, id, nil, false); return err },
		"kill":  func(id string) error { _, _, err := w.Kill(ctx, c, id, nil); return err },
		"wait":  func(id string) error { _, _, err := w.Wait(ctx, c, id, 1); return err },
		"tail":  func(id string) error { _, err := w.Tail(ctx, c, id, TailRequest{}); return err },
		"write": func(id string) error { _, err := w.Write(ctx, c, id, WriteRequest{}); return err },
	}
}
