package registry

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
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

// TestReadMovesACursorOnly: a read of a live task has nothing else of its record
// written (its label may be long), and the next daemon reads on from there.
func TestReadMovesACursorOnly(t *testing.T) {
	w := newWorld(t)
	c := AsOwner(w.owner("s"))
	task := w.start(c)
	w.fake.write(task.Row, "one ")
	for i, by := range []Caller{c, AsOperator()} {
		if text, _ := w.read(by, task.ID); text != "one " {
			t.Errorf("reader %d reads %q", i, text)
		}
		want := Cursors{Row: task.Row, Cursor: 4, OpCursor: int64(4 * i)}
		if got := w.store.last; len(got.Tasks) != 0 || !slices.Equal(got.Cursors, []Cursors{want}) {
			t.Errorf("reader %d: written was %+v, want only %+v", i, got, want)
		}
	}
	w.restart()
	w.owner("s")
	w.fake.write(task.Row, "two")
	for i, by := range []Caller{c, AsOperator()} {
		if text, _ := w.read(by, task.ID); text != "two" {
			t.Errorf("reader %d reads %q after a restart", i, text)
		}
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
