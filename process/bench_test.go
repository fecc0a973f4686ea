package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sidetask/registry"
)

// The figures of commands below the socket, each beside its yardstick in the
// same run; see scripts/bench. What crosses the socket is measured in daemon.

// stamp prints when it runs, in microseconds since the epoch.
const stamp = "echo ${EPOCHREALTIME/[.,]/}"

func micros(b *testing.B, text string) time.Time {
	b.Helper()
	us, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		b.Fatalf("%q is no time: %v", text, err)
	}
	return time.UnixMicro(us)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// compare gives a row of the table that scripts/bench makes: medians, beside
// those of a parent that does it itself.
func compare(b *testing.B, row string, task, direct []time.Duration) {
	t, d := float64(median(task).Nanoseconds())/1000, float64(median(direct).Nanoseconds())/1000
	b.ReportMetric(t, row+":µs")
	b.ReportMetric(d, row+":direct-µs")
	b.ReportMetric(t/d, row+":ratio")
	b.ReportMetric(0, "ns/op") // of both together: says nothing
}

// direct forks, execs and waits itself; it says how long the command's first
// instruction took to come, and the news of its end.
func direct(b *testing.B) (start, end time.Duration) {
	began := time.Now()
	out, err := exec.Command("bash", "-c", stamp).Output()
	now := time.Now()
	if err != nil {
		b.Fatal(err)
	}
	first := micros(b, string(out))
	return first.Sub(began.Round(0)), now.Round(0).Sub(first)
}

// newBench is a world whose runtime folder is in memory, as XDG_RUNTIME_DIR is.
func newBench(b *testing.B) *world {
	w := newWorld(b)
	if dir, err := os.MkdirTemp("/dev/shm", "st"); err == nil {
		b.Cleanup(func() { _ = os.RemoveAll(dir) })
		w.end()
		w.paths.Runtime = filepath.Join(dir, "r")
		w.begin()
	}
	return w
}

func benchSpec() Spec {
	return Spec{Command: stamp, Cwd: "/", Env: map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/"}}
}

// BenchmarkStart: a start → the command's first instruction, and its end → the
// registry's listeners, against a parent that forks, execs and waits itself.
func BenchmarkStart(b *testing.B) {
	w := newBench(b)
	ended := make(chan time.Time, 1)
	defer w.registry.OnDone("/", func(registry.Task) { ended <- time.Now() })()
	var directStarts, directEnds, starts, ends []time.Duration
	for b.Loop() {
		start, end := direct(b)
		directStarts, directEnds = append(directStarts, start), append(directEnds, end)

		began := time.Now()
		s := benchSpec()
		s.Shared = true // so that the listener at "/" hears of it
		task, err := w.p.Start(b.Context(), registry.AsOperator(), s)
		if err != nil {
			b.Fatal(err)
		}
		at := <-ended
		first := micros(b, w.read(task))
		starts = append(starts, first.Sub(began.Round(0)))
		ends = append(ends, at.Round(0).Sub(first))
		w.awaitSpare()
	}
	compare(b, "start-below-the-socket", starts, directStarts)
	compare(b, "end-below-the-socket", ends, directEnds)
}

// awaitSpare waits until the next keeper is warm.
func (w *world) awaitSpare() {
	for {
		w.p.spare.mu.Lock()
		ready := w.p.spare.ready != nil
		w.p.spare.mu.Unlock()
		if ready {
			time.Sleep(2 * time.Millisecond) // it reads from its socket by now
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// BenchmarkColdStart: the same without a spare.
func BenchmarkColdStart(b *testing.B) {
	w := newBench(b)
	var cold, directStarts []time.Duration
	for b.Loop() {
		start, _ := direct(b)
		directStarts = append(directStarts, start)
		w.awaitSpareOr(func() { w.p.spare.retire() })
		began := time.Now()
		task, err := w.p.Start(b.Context(), registry.AsOperator(), benchSpec())
		if err != nil {
			b.Fatal(err)
		}
		w.wait(task)
		cold = append(cold, micros(b, w.read(task)).Sub(began.Round(0)))
	}
	compare(b, "start-without-a-spare-keeper", cold, directStarts)
}

func (w *world) awaitSpareOr(f func()) {
	w.p.spare.making.Wait()
	f()
}
