package daemon_test

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"sidetask/paths"
	"sidetask/rpc"
	"sidetask/rpc/client"
)

const sleeper = "exec sleep 1000"

// BenchmarkCrowd: 3000 live tasks: to start all, the daemon's memory with them, a
// keeper's, and to kill all; beside one parent that does the same itself.
func BenchmarkCrowd(b *testing.B) {
	const crowd = 3000
	var starts, kills pairs
	for b.Loop() {
		directStart, directKill := directCrowd(b, crowd)
		w := newWorld(b)
		w.runtimeInMemory(b)
		w.configure("[limits]\nmaxConcurrentTasksPerOwner = 100000\n")
		c := w.dial()
		w.wait(c, w.start(c, "true").ID) // what is made once is made
		before := kib(b, w.pid(), "status", "VmRSS")

		began := time.Now()
		tasks := w.crowd(b, c, crowd)
		starts.add(time.Since(began), directStart)
		b.ReportMetric((kib(b, w.pid(), "status", "VmRSS")-before)/crowd, "daemon's-memory-a-task:KiB(goal≤16)")
		b.ReportMetric(kib(b, w.pid(), "status", "Threads"), "daemon's-threads:threads")
		all := children(w.pid())
		b.ReportMetric(private(b, all[len(all)/2]), "idle-keeper's-private-memory:KiB(goal≤1024)")

		began = time.Now()
		each(crowd, func(i int) {
			if err := c.Call(w.ctx, rpc.MethodTaskKill, rpc.TaskKill{TaskRef: rpc.TaskRef{ID: tasks[i]}}, nil); err != nil {
				b.Error(err)
			}
		})
		each(crowd, func(i int) { w.wait(c, tasks[i]) })
		kills.add(time.Since(began), directKill)
	}
	starts.report(b, "3000-started", time.Second, "(goal≤4)", "")
	kills.report(b, "3000-killed", time.Second, "(goal≤1)", "")
}

// directCrowd is the yardstick: one parent forks, kills and buries as many.
func directCrowd(b *testing.B, n int) (start, kill time.Duration) {
	commands := make([]*exec.Cmd, n)
	began := time.Now()
	for i := range commands {
		commands[i] = exec.Command("bash", "-c", sleeper)
		if err := commands[i].Start(); err != nil {
			b.Fatal(err)
		}
	}
	start, began = time.Since(began), time.Now()
	for _, command := range commands {
		_ = command.Process.Kill()
	}
	for _, command := range commands {
		_ = command.Wait()
	}
	return start, time.Since(began)
}

// BenchmarkSilence: what 1000 live tasks that say nothing cost in 10 s: context
// switches of the daemon and of all keepers.
func BenchmarkSilence(b *testing.B) {
	// The daemon hears of what happens in each folder on the way to its
	// configuration. In /tmp others make files all the time.
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		b.Setenv("TMPDIR", "/dev/shm")
	}
	for b.Loop() {
		w := newWorld(b)
		w.configure("[limits]\nmaxConcurrentTasksPerOwner = 100000\n")
		c := w.dial()
		w.crowd(b, c, 1000)
		time.Sleep(5 * time.Second) // a pause, so that what the starts left to do is done
		pids := children(w.pid())
		if len(pids) < 1000 || switches(pids[0]) == 0 {
			b.Fatalf("%d keepers are seen", len(pids))
		}
		count := func() (own, keepers float64) {
			for _, pid := range pids {
				keepers += float64(switches(pid))
			}
			return float64(switches(w.pid())), keepers
		}
		own, keepers := count()
		time.Sleep(10 * time.Second) // what is measured
		ownAfter, keepersAfter := count()
		b.ReportMetric(ownAfter-own+keepersAfter-keepers, "switches-of-daemon-and-1000-silent:in-10-s(goal≤20)")
		b.ReportMetric(keepersAfter-keepers, "of-them-the-keepers':in-10-s(goal≤0)")
		b.ReportMetric(0, "ns/op")
	}
}

// runtimeInMemory puts the runtime folder where a session of systemd's has it: on a
// tmpfs. On a disk the socket of each keeper would be an inode to look for room for.
func (w *world) runtimeInMemory(b *testing.B) {
	dir, err := os.MkdirTemp("/dev/shm", "st")
	if err != nil {
		return // no such tmpfs: where it was
	}
	b.Cleanup(func() { _ = os.RemoveAll(dir) })
	b.Setenv("XDG_RUNTIME_DIR", dir)
	if w.paths, err = paths.Find(); err != nil {
		b.Fatal(err)
	}
}

// crowd starts so many tasks that sleep.
func (w *world) crowd(b *testing.B, c *client.Client, n int) []string {
	ids := make([]string, n)
	each(n, func(i int) { ids[i] = w.start(c, sleeper).ID })
	return ids
}

// each runs f for all numbers below n, some at a time.
func each(n int, f func(int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range 8 {
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
