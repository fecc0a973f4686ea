package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sidetask/registry"
)

// The figures of commands below the socket, each beside its yardstick in the
// same run. `go test -run xxx -bench . ./process`; ratios count, not times.

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

func figure(b *testing.B, name string, d []time.Duration) float64 {
	us := float64(median(d).Nanoseconds()) / 1000
	b.ReportMetric(us, name+"-µs")
	b.ReportMetric(float64(d[len(d)/10].Nanoseconds())/1000, name+"-p10-µs")
	return us
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
	var direct, directEnd, warm, warmEnd, call []time.Duration
	for b.Loop() {
		began := time.Now()
		out, err := exec.Command("bash", "-c", stamp).Output()
		now := time.Now()
		if err != nil {
			b.Fatal(err)
		}
		direct = append(direct, micros(b, string(out)).Sub(began.Round(0)))
		directEnd = append(directEnd, now.Round(0).Sub(micros(b, string(out))))

		began = time.Now()
		s := benchSpec()
		s.Shared = true // so that the listener at "/" hears of it
		task, err := w.p.Start(b.Context(), registry.AsOperator(), s)
		if err != nil {
			b.Fatal(err)
		}
		call = append(call, time.Since(began))
		at := <-ended
		first := micros(b, w.read(task))
		warm = append(warm, first.Sub(began.Round(0)))
		warmEnd = append(warmEnd, at.Round(0).Sub(first))
		w.awaitSpare()
	}
	d, t := figure(b, "direct-start", direct), figure(b, "task-start", warm)
	b.ReportMetric(t/d, "start-ratio")
	figure(b, "call", call)
	d, t = figure(b, "direct-end", directEnd), figure(b, "task-end", warmEnd)
	b.ReportMetric(t/d, "end-ratio")
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
	var cold []time.Duration
	for b.Loop() {
		w.awaitSpareOr(func() { w.p.spare.retire() })
		began := time.Now()
		task, err := w.p.Start(b.Context(), registry.AsOperator(), benchSpec())
		if err != nil {
			b.Fatal(err)
		}
		w.wait(task)
		cold = append(cold, micros(b, w.read(task)).Sub(began.Round(0)))
	}
	figure(b, "cold-start", cold)
}

func (w *world) awaitSpareOr(f func()) {
	w.p.spare.making.Wait()
	f()
}

// BenchmarkThroughput: 2 GiB as a task, bounded on disk, against `| cat > file`.
func BenchmarkThroughput(b *testing.B) {
	w := newBench(b)
	dir := b.TempDir()
	const command = "head -c 2147483648 /dev/zero"
	var task, cat []time.Duration
	for b.Loop() {
		began := time.Now()
		if out, err := exec.Command("bash", "-c", command+" | cat > "+filepath.Join(dir, "out")).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		cat = append(cat, time.Since(began))
		_ = os.Remove(filepath.Join(dir, "out"))

		before := ownCPU(b)
		began = time.Now()
		t := w.start(command)
		w.wait(t)
		task = append(task, time.Since(began))
		b.ReportMetric(float64(ownCPU(b)-before), "daemon-cpu-ms")
		if n := w.registry.Facts(t).Bytes; n != 2<<30 {
			b.Fatalf("%d bytes arrived", n)
		}
	}
	c, t := figure(b, "cat", cat), figure(b, "task", task)
	b.ReportMetric(t/c, "ratio")
}

// ownCPU is this process's time without that of buried children.
func ownCPU(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return (usage.Utime.Nano() + usage.Stime.Nano()) / int64(time.Millisecond)
}

const crowd = 3000

// BenchmarkCrowd: 3000 live tasks: starting all, memory of the daemon and of a
// keeper, context switches while all are silent, killing all.
func BenchmarkCrowd(b *testing.B) {
	for b.Loop() {
		w := newBench(b)
		w.start("true") // what is made once is made
		before, rss := heap(), ownRSS(b)
		began := time.Now()
		tasks := w.startMany(b, crowd)
		b.ReportMetric(time.Since(began).Seconds(), "start-all-s")
		b.ReportMetric(float64(heap()-before)/crowd/1024, "heap-KiB/task")
		b.ReportMetric(float64(ownRSS(b)-rss)/crowd/1024, "rss-KiB/task")
		b.ReportMetric(float64(runtime.NumGoroutine()), "goroutines")
		b.ReportMetric(float64(privateBytes(b, w.keeperOf(tasks[0])))/1024, "keeper-private-KiB")
		w.silence(b, tasks)

		began = time.Now()
		w.killMany(b, tasks)
		b.ReportMetric(time.Since(began).Seconds(), "kill-all-s")
	}
}

func (w *world) startMany(b *testing.B, n int) []registry.Task {
	tasks := make([]registry.Task, n)
	each(n, func(i int) {
		s := benchSpec()
		s.Command = "exec sleep 1000"
		t, err := w.p.Start(context.Background(), registry.AsOperator(), s)
		if err != nil {
			b.Error(err)
		}
		tasks[i] = t
	})
	if b.Failed() {
		b.FailNow()
	}
	return tasks
}

func (w *world) killMany(b *testing.B, tasks []registry.Task) {
	each(len(tasks), func(i int) {
		if _, _, err := w.registry.Kill(context.Background(), registry.AsOperator(), tasks[i].ID, nil); err != nil {
			b.Error(err)
		}
	})
	for _, t := range tasks {
		w.wait(t)
	}
}

// each runs f for all numbers below n, some at a time.
func each(n int, f func(int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range 4 {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// silence counts the context switches of the daemon's rooms and of all keepers,
// all their threads, in 10 s in which nothing happens.
func (w *world) silence(b *testing.B, tasks []registry.Task) {
	time.Sleep(3 * time.Second)
	count := func() (keepers int64) {
		for _, t := range tasks {
			keepers += switches(w.keeperOf(t))
		}
		return keepers
	}
	// The daemon's own are counted between, for counting the keepers' costs some.
	keepers, own := count(), switches(os.Getpid())
	time.Sleep(10 * time.Second)
	b.ReportMetric(float64(switches(os.Getpid())-own), "own-switches")
	b.ReportMetric(float64(count()-keepers), "keeper-switches")
}

func switches(pid int) (total int64) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range bytes.Lines(text) {
			if _, n, ok := bytes.Cut(line, []byte("ctxt_switches:")); ok {
				k, _ := strconv.ParseInt(string(bytes.TrimSpace(n)), 10, 64)
				total += k
			}
		}
	}
	return total
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func ownRSS(b *testing.B) int64 { return kilobytes(b, "/proc/self/status", "VmRSS:") }

func privateBytes(b *testing.B, pid int) int64 {
	path := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	return kilobytes(b, path, "Private_Dirty:") + kilobytes(b, path, "Private_Clean:")
}

// kilobytes is a line of /proc in kB, as bytes.
func kilobytes(b *testing.B, path, name string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), name)
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb << 10
}
