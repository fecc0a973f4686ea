package acp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const benchLine = 32 << 20

// TestHelperProxy is no test: it is the proxy of the benchmark below, or its
// agent, in a process of its own.
func TestHelperProxy(t *testing.T) {
	switch os.Getenv("ACP_TEST_PROXY") {
	case "agent":
		_, _ = os.Stdout.Write(updateOf(benchLine))
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "proxy":
		if err := os.Setenv("ACP_TEST_PROXY", "agent"); err != nil {
			os.Exit(1)
		}
		exit, _ := Run(context.Background(), Options{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Agent: os.Args})
		status, _ := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "VmHWM:") {
				fmt.Fprint(os.Stderr, line)
			}
		}
		os.Exit(exit)
	}
}

// BenchmarkMemory measures the most memory that a proxy's process ever has (its
// resident set) while it passes on a line of 32 MiB. Goal: 64 MiB.
func BenchmarkMemory(b *testing.B) {
	peak := 0
	for b.Loop() {
		var stderr strings.Builder
		c := exec.Command(os.Args[0], "-test.run=^TestHelperProxy$")
		c.Env = append(os.Environ(), "ACP_TEST_PROXY=proxy")
		c.Stderr = &stderr
		in, err := c.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		n, lines := 0, bufio.NewReaderSize(out, 64<<10)
		for {
			piece, err := lines.ReadSlice('\n')
			if n += len(piece); err == nil {
				break
			} else if err != bufio.ErrBufferFull {
				b.Fatalf("after %d bytes: %v; stderr: %s", n, err, &stderr)
			}
		}
		_ = in.Close()
		if err := c.Wait(); err != nil || n != len(updateOf(benchLine)) {
			b.Fatalf("%d bytes, %v; stderr: %s", n, err, &stderr)
		}
		kib := 0
		if _, err := fmt.Sscanf(stderr.String(), "VmHWM: %d kB", &kib); err != nil {
			b.Fatalf("%v: %s", err, &stderr)
		}
		peak = max(peak, kib)
	}
	b.ReportMetric(float64(peak)/1024, "MiB-peak(goal<=64)")
	b.ReportMetric(0, "ns/op")
}
