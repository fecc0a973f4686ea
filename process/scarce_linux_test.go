package process

import (
	"errors"
	"log/slog"
	"syscall"
	"testing"

	"sidetask/registry"
)

// told is a log of which each line is an event.
type told chan string

func (l told) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// TestRecoverWithoutDescriptors: a daemon that finds no descriptor left when it looks
// what became of its tasks tells none as lost; it looks again, and then has all: one
// that ended meanwhile, one that runs, and what an ended one left.
func TestRecoverWithoutDescriptors(t *testing.T) {
	w := newWorld(t)
	runs := w.start("echo ready; sleep 1000")
	w.until(runs, "ready")
	ends := w.start("sleep 0.1; exit 3")
	left := w.start("sleep 1000 & exit 4")
	w.wait(left)
	w.end()
	w.awaitFile(w.exitFile(ends))

	lines := make(told, 100)
	w.log = slog.New(slog.NewTextHandler(lines, nil))
	if err := w.rooms(); err != nil {
		t.Fatal(err)
	}
	restore := noDescriptors(t)
	done := make(chan error, 1)
	go func() { done <- w.p.Recover() }()
	select {
	case line := <-lines:
		if !contains(line, "trying again") {
			t.Errorf("it says %s", line)
		}
	case err := <-done:
		done <- err
	}
	for what, ask := range map[string]func() error{
		"record":    func() error { _, _, err := w.p.anyRecord(ends.Row); return err },
		"keeper":    func() error { _, _, err := w.p.keeperOf(runs.Row); return err },
		"socket":    func() error { _, _, err := w.p.answering(runs.Row); return err },
		"signature": func() error { _, err := w.p.signed(runs.Row); return err },
	} {
		if err := ask(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("without descriptors the %s is told of as %v", what, err)
		}
	}
	restore()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.is(w.wait(ends), registry.Completed, "exit code: 3")
	w.keeperOf(runs)
	now, err := w.registry.Get(registry.AsOperator(), runs.ID)
	if err != nil || now.Status != registry.Running {
		t.Errorf("the one that runs is %s, %v", now.Status, err)
	}
	if n, err := w.p.EndLeftovers(left.Row); n != 1 || err != nil {
		t.Errorf("%d leftovers were ended, %v", n, err)
	}
	w.gone(left)
}

// TestAdoptWithoutDescriptors: that a keeper cannot be adopted just now is an error,
// and no sign that it has ended.
func TestAdoptWithoutDescriptors(t *testing.T) {
	w := newWorld(t)
	task := w.start("echo ready; sleep 1000")
	w.until(task, "ready")
	a, err := w.p.signed(task.Row)
	if err != nil {
		t.Fatal(err)
	}
	restore := noDescriptors(t)
	adopted, err := w.p.adopt(task.Row, a)
	restore()
	if adopted || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("adopted: %v, %v", adopted, err)
	}
}

// TestFactsWithoutDescriptors: what could not be read when somebody looked is read at
// the next look.
func TestFactsWithoutDescriptors(t *testing.T) {
	w := newWorld(t)
	task := w.wait(w.start("exit 3"))
	w.gone(task)
	restore := noDescriptors(t)
	w.p.Facts(task.Row)
	restore()
	if f := w.p.Facts(task.Row); len(f) != 1 || f[0].PID == 0 {
		t.Errorf("facts %+v", f)
	}
}
