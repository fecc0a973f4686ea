package process

import (
	"syscall"
	"testing"
	"time"

	"sidetask/registry"
)

// BenchmarkList: what a list costs of 3000 finished and 500 live tasks, and of the
// same with one keeper that does not answer.
func BenchmarkList(b *testing.B) {
	w := newBench(b)
	finished := make([]registry.Task, 3000)
	for i := range finished {
		finished[i] = w.start("echo x")
	}
	for _, t := range finished {
		w.wait(t)
	}
	for i := range 500 {
		w.start("sleep 1000", func(s *Spec) { s.Stdin = i%10 == 0 })
	}
	hung := w.start("sleep 1000 & echo ready")
	w.wait(hung)
	list := func(b *testing.B) {
		var cpu int64
		for b.Loop() {
			before := ownCPUMicros(b)
			w.listed()
			cpu += ownCPUMicros(b) - before
		}
		b.ReportMetric(float64(cpu)/float64(b.N)/1000, "cpu-ms/op")
	}
	b.Run("all", list)
	if err := syscall.Kill(w.keeperOf(hung), syscall.SIGSTOP); err != nil {
		b.Fatal(err)
	}
	b.Run("hung", list)
	_ = syscall.Kill(w.keeperOf(hung), syscall.SIGCONT)
}

// ownCPUMicros is this process's time.
func ownCPUMicros(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return (usage.Utime.Nano() + usage.Stime.Nano()) / int64(time.Microsecond)
}

// listed makes the operator's list with all facts.
func (w *world) listed() {
	w.registry.FactsOf(w.registry.List(registry.AsOperator(), true))
}
