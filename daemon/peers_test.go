package daemon_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// peer is a program that runs commands in the background, as a person at a
// shell or a script uses it.
type peer struct {
	name string
	// start runs a command and returns when it is accepted, with what wait needs.
	start func(b *testing.B, command string) (job string)
	wait  func(b *testing.B, job string) // nil: the peer has no way to wait
}

// BenchmarkPeers measures, side by side in one run: a start → the command's
// first instruction, its end → whoever waits for it knows, and how many of 100 jobs
// run at once. (That nq runs one job after the other is what it is for. The others
// are asked for 100.)
func BenchmarkPeers(b *testing.B) {
	w := newWorld(b)
	w.configure("[limits]\nmaxConcurrentTasksPerOwner = 100\n")
	c := w.dial()
	b.Setenv("TS_SOCKET", filepath.Join(w.dir, "tsp"))
	b.Setenv("TS_SLOTS", "100")
	b.Setenv("TMPDIR", w.dir)
	// Its server lives as long as it has a session.
	_ = exec.Command("tmux", "-L", "bench", "-f", "/dev/null", "new-session", "-d", "sleep 1000").Run()
	for _, p := range []peer{
		{"sidetask", func(_ *testing.B, command string) string { return w.start(c, command).ID }, func(_ *testing.B, id string) { w.wait(c, id) }},
		{"sidetask-run", func(b *testing.B, command string) string { return w.output(b, w.program(), "run", "-c", command) }, func(_ *testing.B, id string) { w.exits(w.program(), "wait", id) }},
		{"sh", func(b *testing.B, command string) string {
			return w.output(b, "bash", "-c", "("+command+") > /dev/null 2>&1 &")
		}, nil},
		{"tsp", func(b *testing.B, command string) string { return w.output(b, "tsp", "bash", "-c", command) }, func(_ *testing.B, id string) { w.exits("tsp", "-w", id) }},
		{"nq", func(b *testing.B, command string) string { return w.output(b, "nq", "bash", "-c", command) }, func(_ *testing.B, id string) { w.exits("nq", "-w", id) }},
		{"tmux", func(b *testing.B, command string) string {
			return w.output(b, "tmux", "-L", "bench", "new-window", "-d", command)
		}, nil},
	} {
		b.Run(p.name, func(b *testing.B) {
			if _, err := exec.LookPath(p.name); err != nil && !strings.HasPrefix(p.name, "sidetask") {
				b.Skipf("%s is not installed", p.name)
			}
			w.measure(b, p)
			w.crowded(b, p)
		})
	}
	_ = exec.Command("tsp", "-K").Run()
	_ = exec.Command("tmux", "-L", "bench", "kill-server").Run()
}

func (w *world) measure(b *testing.B, p peer) {
	first, last := filepath.Join(w.dir, "first"), filepath.Join(w.dir, "last")
	var starts, notices []time.Duration
	for b.Loop() {
		for _, file := range []string{first, last} {
			_ = os.Remove(file)
		}
		// The pause gives the waiter time to wait; it is in no figure.
		command := fmt.Sprintf("echo $EPOCHREALTIME > %[1]s; sleep 0.1; echo $EPOCHREALTIME > %[2]s.new; mv %[2]s.new %[2]s", first, last)
		began := time.Now()
		job := p.start(b, "bash -c '"+command+"'")
		if p.wait == nil {
			starts = append(starts, stamped(b, first).Sub(began.Round(0)))
			stamped(b, last)
			continue
		}
		p.wait(b, job)
		known := time.Now()
		starts = append(starts, stamped(b, first).Sub(began.Round(0)))
		notices = append(notices, known.Round(0).Sub(stamped(b, last)))
	}
	slices.Sort(starts)
	b.ReportMetric(float64(starts[len(starts)/2].Microseconds()), p.name+"-start→first-instruction:µs")
	if len(notices) > 0 {
		slices.Sort(notices)
		b.ReportMetric(float64(notices[len(notices)/2].Microseconds()), p.name+"-end→notice:µs")
	}
	b.ReportMetric(0, "ns/op") // with the pause: says nothing
}

// crowded says how many of 100 jobs run at once in the end, and how long it took
// to have them running.
func (w *world) crowded(b *testing.B, p peer) {
	const jobs = 100
	dir := filepath.Join(w.dir, "jobs-"+p.name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	var started []string
	began := time.Now()
	for i := range jobs {
		started = append(started, p.start(b, fmt.Sprintf("bash -c '[ -e %[1]s/end ] || { echo $$ > %[1]s/%[2]d; exec sleep 1000; }'", dir, i)))
	}
	// Some run one job after the other: those that still wait after a second that
	// brought none never run.
	running, last := 0, time.Now()
	for running < jobs && time.Since(last) < time.Second {
		if entries, _ := os.ReadDir(dir); len(entries) > running {
			running, last = len(entries), time.Now()
		}
		time.Sleep(time.Millisecond) // a benchmark of programs that tell nobody
	}
	b.ReportMetric(float64(running), p.name+"-of-100-jobs-run-at-once:jobs")
	b.ReportMetric(float64(last.Sub(began).Milliseconds()), p.name+"-time-until-they-ran:ms")

	entries, _ := os.ReadDir(dir)
	w.touch(filepath.Join(dir, "end")) // for those that still wait
	for _, entry := range entries {
		pid := 0
		for pid == 0 { // it may be about to write it
			text, _ := os.ReadFile(filepath.Join(dir, entry.Name()))
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if p.wait == nil {
		return
	}
	for _, job := range started {
		p.wait(b, job)
	}
}

// exits runs a peer's command that waits, and so exits as the job did.
func (w *world) exits(name string, args ...string) {
	cmd := exec.CommandContext(w.ctx, name, args...)
	cmd.Dir = w.dir
	_ = cmd.Run()
}

// output runs a peer's command.
func (w *world) output(b *testing.B, name string, args ...string) string {
	cmd := exec.CommandContext(w.ctx, name, args...)
	cmd.Dir = w.dir
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%s %v: %v %s", name, args, err, stderrOf(err))
	}
	return strings.TrimSpace(string(out))
}

// stamped is the time in a file, as soon as there is one.
func stamped(b *testing.B, file string) time.Time {
	for {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			b.Fatal(err)
		}
		if us, err := strconv.ParseInt(strings.NewReplacer(".", "", ",", "", "\n", "").Replace(string(text)), 10, 64); err == nil {
			return time.UnixMicro(us)
		}
		time.Sleep(time.Millisecond) // a benchmark of programs that tell nobody
	}
}
