package registry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// read reads and delivers.
func (w *world) read(c Caller, id string) (string, Task) {
	w.t.Helper()
	reading, task, receipt, err := w.Read(w.t.Context(), c, id, nil, false)
	if err != nil {
		w.t.Fatal(err)
	}
	receipt.Delivered()
	return reading.Text, task
}

// TestRead pins T31, T33 and T35: one consuming cursor, what came before the
// end is not lost, and reading the end reports it.
func TestRead(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	task := w.start(c)
	w.fake.write(task.Row, "one ")
	if text, got := w.read(c, task.ID); text != "one " || got.Reported {
		t.Errorf("first read %q, reported %v", text, got.Reported)
	}
	if text, _ := w.read(c, task.ID); text != "" {
		t.Errorf("read again %q", text)
	}
	w.fake.write(task.Row, "two")
	w.end(task)
	text, got := w.read(c, task.ID)
	if text != "two" || got.Status != Completed || !got.Reported {
		t.Errorf("last read %q of %+v", text, got)
	}
	if text, _ := w.read(c, task.ID); text != "" {
		t.Errorf("after the end %q", text)
	}
	reading, _, receipt, err := w.Read(t.Context(), c, task.ID, nil, true)
	if err != nil || reading.Text != "one two" {
		t.Errorf("from the start: %q, %v", reading.Text, err)
	}
	receipt.Delivered()
	if len(w.Inbox(h)) != 0 {
		t.Error("a read end gives a notice (T167)")
	}
}

// TestReadUndelivered pins the table's T31 and T33 and decision 10: until it is
// delivered nothing is final, then the bytes come again and the bell rings,
// without a second round of listeners (T67).
func TestReadUndelivered(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	rounds := 0
	w.OnDone("/", func(Task) { rounds++ })
	task := w.start(c)
	w.fake.write(task.Row, "out")
	w.end(task)
	w.rung()
	reading, got, receipt, err := w.Read(t.Context(), c, task.ID, nil, false)
	if err != nil || reading.Text != "out" || !got.Reported {
		t.Fatalf("%q, %+v, %v", reading.Text, got, err)
	}
	if len(w.Inbox(h)) != 0 || w.store.tasks[task.Row].Reported || w.store.tasks[task.Row].Cursor != 0 {
		t.Errorf("before delivery: %d notices, stored %+v", len(w.Inbox(h)), w.store.tasks[task.Row])
	}
	receipt.Failed()
	if len(w.Inbox(h)) != 1 || len(w.rung()) != 1 || rounds != 1 {
		t.Errorf("after the failure: %d notices, %d rounds", len(w.Inbox(h)), rounds)
	}
	if text, _ := w.read(c, task.ID); text != "out" || !w.store.tasks[task.Row].Reported || w.store.tasks[task.Row].Cursor != 3 {
		t.Errorf("again: %q, stored %+v", text, w.store.tasks[task.Row])
	}
}

// TestReadWaits: a second consuming read waits for the receipt of the first;
// the operator's cursor is another, and waiting reads can be given up.
func TestReadWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		h := w.owner("s")
		c := AsOwner(h)
		task := w.start(c)
		w.fake.write(task.Row, "one")
		_, _, first, err := w.Read(t.Context(), c, task.ID, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		second := make(chan string, 1)
		go func() {
			reading, _, receipt, err := w.Read(t.Context(), c, task.ID, nil, false)
			receipt.Delivered()
			second <- reading.Text
			if err != nil {
				t.Error(err)
			}
		}()
		given := make(chan error, 2)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _, _, err := w.Read(ctx, c, task.ID, nil, false)
			given <- err
		}()
		synctest.Wait()
		if len(second) != 0 {
			t.Error("the second read did not wait")
		}
		cancel()
		if err := <-given; !errors.Is(err, ErrWaitAborted) {
			t.Errorf("given up: %v", err)
		}
		if text, _ := w.read(AsOperator(), task.ID); text != "one" {
			t.Errorf("the operator reads %q", text)
		}
		w.fake.write(task.Row, " two")
		first.Delivered()
		if text := <-second; text != " two" {
			t.Errorf("the second read gave %q", text)
		}
		_, _, third, err := w.Read(t.Context(), c, task.ID, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _, _, err := w.Read(t.Context(), c, task.ID, nil, false)
			given <- err
		}()
		synctest.Wait()
		w.AbortWaits(h)
		if err := <-given; !errors.Is(err, ErrWaitAborted) {
			t.Errorf("owner/abort: %v", err)
		}
		third.Failed()
	})
}

// TestReadNeverBlocks pins T3 and T36: no output gives no text at once, for a
// stream task and for a final one, which says so in its snapshot.
func TestReadNeverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := AsOwner(w.owner("s"))
		for _, stream := range []bool{true, false} {
			s := spec()
			s.Stream = stream
			task, err := w.Start(t.Context(), c, s, func(Row) error { return nil })
			if err != nil || task.Stream != stream {
				t.Fatalf("Start = %+v, %v", task, err)
			}
			if text, got := w.read(c, task.ID); text != "" || got.Status != Running || got.Stream != stream {
				t.Errorf("%q of %+v", text, got)
			}
		}
	})
}

// TestReported pins T5: of all calls only a kill, a read or a wait that finds
// the end, and a teardown set it, and nothing takes it away.
func TestReported(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	task := w.start(c)
	w.fake.write(task.Row, "x")
	w.read(c, task.ID)
	_, _, _ = w.Wait(t.Context(), c, task.ID, 0.01)
	_ = w.List(c, true)
	w.end(task)
	_, _ = w.Tail(t.Context(), c, task.ID, TailRequest{})
	if w.get(task.ID).Reported {
		t.Error("something else set it")
	}
	w.read(c, task.ID)
	_, _, receipt, err := w.Read(t.Context(), c, task.ID, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	receipt.Failed()
	w.restart()
	if !w.get(task.ID).Reported {
		t.Error("something took it away")
	}
}

// TestReadThrows pins T34.
func TestReadThrows(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	c := AsOwner(h)
	task := w.start(c)
	w.end(task)
	w.fake.readErr = errors.New("disk gone")
	_, _, receipt, err := w.Read(t.Context(), c, task.ID, nil, false)
	wantMessage(t, err, ErrProducerFailed, "disk gone")
	if receipt != nil || w.get(task.ID).Reported || len(w.Inbox(h)) != 1 {
		t.Error("a read that failed changed the task")
	}
	w.fake.readErr = nil
	if _, got := w.read(c, task.ID); !got.Reported {
		t.Error("the next read does not report")
	}
}

// TestReadOperator: the operator's cursor is its own and durable, and its reads
// report nothing (table, T31, T33).
func TestReadOperator(t *testing.T) {
	w := newWorld(t)
	h := w.owner("s")
	task := w.start(AsOwner(h))
	w.fake.write(task.Row, "one")
	w.end(task)
	if text, got := w.read(AsOperator(), task.ID); text != "one" || got.Reported {
		t.Errorf("%q, reported %v", text, got.Reported)
	}
	w.restart()
	if text, _ := w.read(AsOperator(), task.ID); text != "" {
		t.Errorf("after a restart %q", text)
	}
	if text, _ := w.read(AsOwner(h), task.ID); text != "one" {
		t.Errorf("the owner reads %q", text)
	}
}

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
		for name, call := range map[string]func(id string) error{
			"get":   func(id string) error { _, err := w.Get(c, id); return err },
			"read":  func(id string) error { _, _, _, err := w.Read(t.Context(), c, id, nil, false); return err },
			"kill":  func(id string) error { _, _, err := w.Kill(t.Context(), c, id, nil); return err },
			"wait":  func(id string) error { _, _, err := w.Wait(t.Context(), c, id, 1); return err },
			"tail":  func(id string) error { _, err := w.Tail(t.Context(), c, id, TailRequest{}); return err },
			"write": func(id string) error { _, err := w.Write(t.Context(), c, id, WriteRequest{}); return err },
		} {
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
