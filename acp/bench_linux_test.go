package acp

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkRelay measures how many bytes of updates go from the agent to the
// editor, in the median of all turns, and what a line costs the process between
// them in CPU time. All take turns in the same run, and only their ratios count.
func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) { relay(b, size) })
	}
}

func relay(b *testing.B, size int) {
	ways := newWays(b)
	took, cpu := map[string][]time.Duration{}, map[string][]time.Duration{} // of a line
	buffer := make([]byte, 128<<10)
	for b.Loop() {
		for through, br := range ways {
			lines := 16 << 20 / size
			if through == throughCodec {
				lines /= 16 // it takes that much longer
			}
			before, start := br.cpu(b), time.Now()
			br.ask(size, lines)
			for left := lines * size; left > 0; {
				n, err := br.editor.Read(buffer)
				if err != nil {
					b.Fatal(err)
				}
				left -= n
			}
			took[through] = append(took[through], time.Since(start)/time.Duration(lines))
			cpu[through] = append(cpu[through], (br.cpu(b)-before)/time.Duration(lines))
		}
	}
	for through := range ways {
		b.ReportMetric(float64(size)*1e3/p50(took[through]), through+"-MB/s")
		b.ReportMetric(p50(cpu[through]), through+"-cpu-ns/line")
	}
	b.ReportMetric(p50(took[throughCat])/p50(took[throughProxy]), "x-cat(goal≥0.6)")
	b.ReportMetric(p50(took[throughCodec])/p50(took[throughProxy]), "x-codec(goal≥3)")
	b.ReportMetric(0, "ns/op") // of all of them: says nothing
}

// BenchmarkLatency measures how long one update takes from the agent's write to
// the editor's read, in the median. They come one by one, as a model speaks.
func BenchmarkLatency(b *testing.B) {
	ways := newWays(b)
	took := map[string][]time.Duration{}
	got := make([]byte, 1<<10)
	for b.Loop() {
		for through, br := range ways {
			br.say(`"method":"_speak"`)
			for range words {
				if _, err := io.ReadFull(br.editor, got); err != nil {
					b.Fatal(err)
				}
				took[through] = append(took[through], time.Since(sentAt(b, got)))
			}
		}
	}
	for through := range ways {
		b.ReportMetric(p50(took[through]), through+"-p50-ns")
	}
	b.ReportMetric(p50(took[throughProxy])/p50(took[throughCat]), "x-cat(goal≤2)")
	b.ReportMetric(0, "ns/op")
}

// p50 is the median, in nanoseconds.
func p50(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2])
}

// BenchmarkMemory measures the most memory that the proxy's process ever has (its
// resident set) while it passes on a line of 32 MiB.
func BenchmarkMemory(b *testing.B) {
	peak := 0
	for b.Loop() {
		br := newBridge(b, throughProxy, newHouse(b))
		br.ask(32<<20, 1)
		if _, err := io.CopyN(io.Discard, br.editor, 32<<20); err != nil {
			b.Fatal(err)
		}
		peak = max(peak, br.peak(b))
		br.end()
	}
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak(goal≤64)")
	b.ReportMetric(0, "ns/op")
}

// cpu is the CPU time that the process in the middle has had.
func (br *bridge) cpu(b *testing.B) (all time.Duration) {
	threads, err := filepath.Glob(br.proc("task/*/schedstat"))
	if err != nil || len(threads) == 0 {
		b.Fatalf("no threads of process %d: %v", br.middle.Process.Pid, err)
	}
	for _, thread := range threads {
		ran, _, _ := strings.Cut(read(b, thread), " ")
		ns, err := strconv.Atoi(ran)
		if err != nil {
			b.Fatal(err)
		}
		all += time.Duration(ns)
	}
	return all
}

// peak is the most memory that the process in the middle has had, in bytes.
func (br *bridge) peak(b *testing.B) int {
	_, rest, _ := strings.Cut(read(b, br.proc("status")), "VmHWM:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return kib << 10
}

func (br *bridge) proc(name string) string {
	return filepath.Join("/proc", strconv.Itoa(br.middle.Process.Pid), name)
}

func read(b *testing.B, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}
