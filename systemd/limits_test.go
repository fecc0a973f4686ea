package systemd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseLimits(t *testing.T) {
	for _, c := range []struct {
		memory, cpu string
		pids        int64
		want        Limits
		wrong       string
	}{
		{},
		{memory: "4G", cpu: "200%", pids: 4096, want: Limits{Memory: 4 << 30, CPU: 200, PIDs: 4096}},
		{memory: "1048576", want: Limits{Memory: 1 << 20}},
		{memory: "7T", want: Limits{Memory: 7 << 40}},
		{memory: "4GB", wrong: `memoryMax ("4GB") must be a number of bytes`},
		{memory: "-1", wrong: "memoryMax"},
		{memory: "0", wrong: "at least 1 byte"},
		{memory: "99999999999T", wrong: "less than 8 EiB"},
		{cpu: "2", wrong: `cpuMax ("2") must be a whole percentage`},
		{cpu: "0%", wrong: "cpuMax"},
		{cpu: "1.5%", wrong: "cpuMax"},
		{pids: -1, wrong: "pidsMax (-1)"},
		{pids: 1, wrong: "at least 2"},
	} {
		got, err := ParseLimits(c.memory, c.cpu, c.pids)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("ParseLimits(%q, %q, %d): error %v, want one with %q", c.memory, c.cpu, c.pids, err, c.wrong)
			}
		} else if err != nil || got != c.want {
			t.Errorf("ParseLimits(%q, %q, %d) = %+v, %v; want %+v", c.memory, c.cpu, c.pids, got, err, c.want)
		}
	}
}

// A limit that nobody would enforce is refused by name, not accepted in silence
// as the manager does.
func TestLimitsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.controllers"), []byte("memory pids\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (Limits{Memory: 1, PIDs: 2}).Possible(dir); err != nil {
		t.Errorf("with both controllers: %v", err)
	}
	err := Limits{Memory: 1, CPU: 100}.Possible(dir)
	if err == nil || !strings.Contains(err.Error(), "cpuMax (controller cpu) cannot be enforced here") || strings.Contains(err.Error(), "memoryMax (") {
		t.Errorf("without the cpu controller: %v", err)
	}
	var none *Groups
	if _, _, err := none.Open(context.Background(), "t1", Limits{PIDs: 5}); err == nil || !strings.Contains(err.Error(), "sidetask install --systemd") {
		t.Errorf("without a service: %v", err)
	}
	if dir, done, err := none.Open(context.Background(), "t1", Limits{}); dir != "" || done == nil || err != nil {
		t.Errorf("no limits, no service: %q, %v", dir, err)
	}
}
