package systemd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
