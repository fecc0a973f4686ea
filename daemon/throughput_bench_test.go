package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkThroughput: 2 GiB as a task, bounded on disk, against `| cat > file`,
// turn by turn; and what the daemon does meanwhile.
func BenchmarkThroughput(b *testing.B) {
	w := newWorld(b)
	c := w.dial()
	out := filepath.Join(w.dir, "out")
	const command = "head -c 2147483648 /dev/zero"
	var times pairs
	var used time.Duration
	for b.Loop() {
		began := time.Now()
		if out, err := exec.Command("bash", "-c", command+" | cat > "+out).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		direct := time.Since(began)
		if err := os.Remove(out); err != nil {
			b.Fatal(err)
		}

		before := cpu(b, w.pid())
		began = time.Now()
		task := w.wait(c, w.start(c, command).ID)
		times.add(time.Since(began), direct)
		used += cpu(b, w.pid()) - before
		if task.Operator.Bytes != 2<<30 {
			b.Fatalf("%d bytes arrived", task.Operator.Bytes)
		}
	}
	times.report(b, "2-GiB-of-output", time.Millisecond, "", "(goal≤1.1)")
	// Less than one tick of the clock for a start and an end counts as none.
	b.ReportMetric(float64(used.Milliseconds())/float64(b.N), "daemon's-CPU-meanwhile:ms(goal≤10)")
}
