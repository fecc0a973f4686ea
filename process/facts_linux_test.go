package process

import (
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"sidetask/registry"
)

// TestPastFacts: what cannot change any more is looked for once, and forgotten
// with the task.
func TestPastFacts(t *testing.T) {
	w := newWorld(t)
	task := w.start("echo 12345")
	w.wait(task)
	w.gone(task)
	first := w.registry.Facts(task)
	if first.Bytes != 6 || first.PID == 0 || first.CPUMs == nil {
		t.Errorf("facts %+v", first)
	}
	moved := w.p.dir(task.Row) + "-moved"
	if err := os.Rename(w.p.dir(task.Row), moved); err != nil {
		t.Fatal(err)
	}
	if again := w.registry.Facts(task); !reflect.DeepEqual(again, first) {
		t.Errorf("facts %+v, then %+v: they were looked for twice", first, again)
	}
	if err := os.Rename(moved, w.p.dir(task.Row)); err != nil {
		t.Fatal(err)
	}
	if freed, err := w.p.Remove(task.Row); freed != 6 || err != nil {
		t.Errorf("%d bytes freed, %v", freed, err)
	}
	w.registry.Facts(task) // a list that was made before
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	if len(w.p.past) > 0 {
		t.Errorf("facts of a task that is gone are kept: %v", w.p.past)
	}
}

// TestHungKeepers: keepers that do not answer cost a list no more than one of
// them does, and are told of as they were known last; others are told of as they are.
func TestHungKeepers(t *testing.T) {
	w := newWorld(t)
	answers := w.wait(w.start("sleep 1000 & sleep 1000 & exit 0"))
	var hung []registry.Task
	for range 10 {
		task := w.wait(w.start("sleep 1000 & exit 0"))
		hung = append(hung, task)
		if err := syscall.Kill(w.keeperOf(task), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.resumed(task) })
	}
	// One that asked them one after the other would take ten times as long, whenever.
	var facts []registry.Facts
	eventually(t, "a list of ten keepers that hang takes no more than four of them", func() bool {
		began := time.Now()
		w.registry.Facts(hung[0])
		one := time.Since(began)
		began = time.Now()
		facts = w.registry.FactsOf(append([]registry.Task{answers}, hung...))
		return time.Since(began) <= 4*one
	})
	for i, f := range facts {
		if want := 1; i > 0 && f.Leftovers != want {
			t.Errorf("%d leftovers of a keeper that hangs, want %d", f.Leftovers, want)
		}
	}
	if facts[0].Leftovers != 2 {
		t.Errorf("%d leftovers of a keeper that answers", facts[0].Leftovers)
	}
}

// TestKillWakesKeeper: a keeper that somebody stopped is woken to stop its command,
// also by the daemon after the one that started it.
func TestKillWakesKeeper(t *testing.T) {
	w := newWorld(t)
	for _, adopted := range []bool{false, true} {
		task := w.start("sleep 1000")
		if adopted {
			w.restart()
		}
		keeper := w.keeperOf(task)
		if err := syscall.Kill(keeper, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the keeper is stopped", func() bool {
			fields, err := statFields(keeper)
			return err == nil && fields[0] == "T"
		})
		if _, _, err := w.registry.Kill(w.context(), registry.AsOperator(), task.ID, nil); err != nil {
			t.Fatal(err)
		}
		w.is(w.wait(task), registry.Killed, "killed by the user")
	}
}

// resumed lets the keeper of a task go on.
func (w *world) resumed(t registry.Task) {
	if k, ok := w.p.find(t.Row); ok {
		resume(k.pidfd)
	}
}
