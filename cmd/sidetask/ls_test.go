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
		{ID: "bash-2", Kind: "bash", Status: rpc.StatusRunning, StartedAt: 1000, Label: "y", Operator: &rpc.Operator{Agent: "@agentclientprotocol/claude-agent-acp", Session: "s1"}},
		{ID: "bash-3", Kind: "bash", Status: rpc.StatusRunning, StartedAt: 1000, Label: "z", Operator: &rpc.Operator{Agent: "an-agent-with-a-long-name", Session: "s1"}},
		{ID: "job-1", Kind: "job", Status: rpc.StatusRunning, StartedAt: 1000, Label: "x", Operator: &rpc.Operator{Owner: "operator"}},
	}
	now := time.UnixMilli(91_000)
	for _, c := range []struct {
		columns int
		want    [][]string
	}{
		{0, [][]string{
			{"bash-1", "bash", "running", "1m30s", "1m30s", "claude 0123456789-0123", "2", "make"},
			{"bash-2", "bash", "running", "1m30s", "1m30s", "@agentclientprotocol/claude-agent-acp s1", "-", "y"},
			{"bash-3", "bash", "running", "1m30s", "1m30s", "an-agent-with-a-long-name s1", "-", "z"},
			{"job-1", "job", "running", "1m30s", "1m30s", "you", "-", "x"},
		}},
		{wide - 1, [][]string{
			{"ID", "KIND", "STATUS", "AGE", "TOOK", "OWNER", "LEFT", "LABEL"},
			{"bash-1", "bash", "running", "1m30s", "1m30s", "claude 01234567…", "2", "make"},
			{"bash-2", "bash", "running", "1m30s", "1m30s", "claude-agent-acp s1", "-", "y"},
			{"bash-3", "bash", "running", "1m30s", "1m30s", "an-agent-with-a… s1", "-", "z"},
			{"job-1", "job", "running", "1m30s", "1m30s", "you", "-", "x"},
		}},
		{wide, [][]string{
			{"ID", "KIND", "STATUS", "AGE", "TOOK", "CPU", "OWNER", "LEFT", "LABEL"},
			{"bash-1", "bash", "running", "1m30s", "1m30s", "1m01s", "claude 01234567…", "2", "make"},
			{"bash-2", "bash", "running", "1m30s", "1m30s", "-", "claude-agent-acp s1", "-", "y"},
			{"bash-3", "bash", "running", "1m30s", "1m30s", "-", "an-agent-with-a… s1", "-", "z"},
			{"job-1", "job", "running", "1m30s", "1m30s", "-", "you", "-", "x"},
		}},
	} {
		got := taskRows(tasks, now, c.columns)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%d columns: %q", c.columns, got)
		}
	}
}
