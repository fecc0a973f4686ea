package main

import (
	"slices"
	"testing"
	"time"

	"sidetask/rpc"
)

// TestTaskRows: a script always gets the same cells, a person on a wide terminal
// the processor time, too.
func TestTaskRows(t *testing.T) {
	cpu := int64(61_500)
	tasks := []rpc.Task{
		{ID: "bash-1", Kind: "bash", Status: rpc.StatusRunning, StartedAt: 1000, Label: "make", Operator: &rpc.Operator{Agent: "claude", Session: "0123456789-0123", CPUMs: &cpu, Leftovers: 2}},
		{ID: "job-1", Kind: "job", Status: rpc.StatusRunning, StartedAt: 1000, Label: "x", Operator: &rpc.Operator{Owner: "operator"}},
	}
	now := time.UnixMilli(91_000)
	for _, c := range []struct {
		columns int
		want    [][]string
	}{
		{0, [][]string{
			{"bash-1", "bash", "running", "1m30s", "1m30s", "claude 0123456789-0123", "2", "make"},
			{"job-1", "job", "running", "1m30s", "1m30s", "you", "-", "x"},
		}},
		{wide - 1, [][]string{
			{"ID", "KIND", "STATUS", "AGE", "TOOK", "OWNER", "LEFT", "LABEL"},
			{"bash-1", "bash", "running", "1m30s", "1m30s", "claude 01234567…", "2", "make"},
			{"job-1", "job", "running", "1m30s", "1m30s", "you", "-", "x"},
		}},
		{wide, [][]string{
			{"ID", "KIND", "STATUS", "AGE", "TOOK", "CPU", "OWNER", "LEFT", "LABEL"},
			{"bash-1", "bash", "running", "1m30s", "1m30s", "1m01s", "claude 01234567…", "2", "make"},
			{"job-1", "job", "running", "1m30s", "1m30s", "-", "you", "-", "x"},
		}},
	} {
		got := taskRows(tasks, now, c.columns)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%d columns: %q", c.columns, got)
		}
	}
}
