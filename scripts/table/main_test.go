package main

import (
	"strings"
	"testing"
)

// TestTable: figures stand beside their yardstick and goal, whichever way a
// benchmark names them.
func TestTable(t *testing.T) {
	const printed = "goos: linux\n" +
		"BenchmarkSocket-2 \t 50\t 900 start:direct-µs\t 1800 start:µs\t 2.000 start:ratio(goal≤3)\t 70 cpu:ms(goal<=50)\n" +
		"BenchmarkPipe/32MiB-2 \t 1\t 0.5 x-cat(goal>=0.6)\t 200 MB/s\t 7 x-codec(goal≥3)\n" +
		"PASS\n"
	const want = "" +
		" what       | measured  | yardstick | ratio | goal        |\n" +
		" start      | 1800 µs   | 900 µs    | 2.000 | ≤ 3×        | met\n" +
		" cpu        | 70 ms     |           |       | ≤ 50 ms     | missed\n" +
		" Pipe/32MiB | 0.5 x-cat |           |       | ≥ 0.6 x-cat | missed\n" +
		" Pipe/32MiB | 200 MB/s  |           |       |             | \n" +
		" Pipe/32MiB | 7 x-codec |           |       | ≥ 3 x-codec | met\n"
	var out strings.Builder
	if err := run(strings.NewReader(printed), &out); err != nil || out.String() != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, &out, want)
	}
	if err := run(strings.NewReader("--- FAIL: BenchmarkX\n"), &out); err == nil {
		t.Error("a failed benchmark is no error")
	}
}
