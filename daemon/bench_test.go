package daemon_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The figures of a real daemon, each beside its yardstick in the same run; see
// scripts/bench, which makes a table of them by their units.

// pairs are what was measured of sidetask and directly, turn by turn.
type pairs struct{ task, direct []float64 }

func (p *pairs) add(task, direct time.Duration) {
	p.task, p.direct = append(p.task, float64(task)), append(p.direct, float64(direct))
}

// report gives a row of the table: medians, and the median of the turns' ratios. A
// goal is for the figure or for the ratio; the other is empty.
func (p *pairs) report(b *testing.B, row string, unit time.Duration, ofFigure, ofRatio string) {
	b.Helper()
	ratios := make([]float64, len(p.task))
	for i := range ratios {
		ratios[i] = p.task[i] / p.direct[i]
	}
	name := map[time.Duration]string{time.Microsecond: "µs", time.Millisecond: "ms", time.Second: "s"}[unit]
	b.ReportMetric(median(p.task)/float64(unit), row+":"+name+ofFigure)
	b.ReportMetric(median(p.direct)/float64(unit), row+":direct-"+name)
	b.ReportMetric(median(ratios), row+":ratio"+ofRatio)
	b.ReportMetric(0, "ns/op") // of all together: says nothing
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// cpu is the time that a process has used so far.
func cpu(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	const user, system = 11, 12 // fields 14 and 15, counted behind the name
	ticks := 0
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
}

// kib is a line of a process's file in /proc that has a size.
func kib(t testing.TB, pid int, file, name string) (total float64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), name+":")
	if _, err := fmt.Sscan(rest, &total); !ok || err != nil {
		t.Fatalf("%s of process %d: %v", name, pid, err)
	}
	return total
}

// private is what ending a process would free.
func private(t testing.TB, pid int) float64 {
	t.Helper()
	return kib(t, pid, "smaps_rollup", "Private_Dirty") + kib(t, pid, "smaps_rollup", "Private_Clean")
}

// children are the daemon's: the keepers, and the spare one.
func children(pid int) (pids []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for field := range strings.FieldsSeq(string(text)) {
			child, _ := strconv.Atoi(field)
			pids = append(pids, child)
		}
	}
	return pids
}

// switches are the context switches of all threads of a process.
func switches(pid int) (total int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			if _, n, ok := strings.Cut(line, "ctxt_switches:"); ok {
				k, _ := strconv.Atoi(strings.TrimSpace(n))
				total += k
			}
		}
	}
	return total
}
