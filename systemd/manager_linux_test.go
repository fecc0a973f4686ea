package systemd

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInManager is what needs a real user manager around it: scripts/test-systemd
// runs this binary as a service.
func TestInManager(t *testing.T) {
	if os.Getenv("SYSTEMD_TEST_MANAGER") == "" {
		t.Skip("scripts/test-systemd runs this under a user manager")
	}
	s, err := Take()
	if err != nil {
		t.Error(err)
	}
	if !s.Supervised() {
		t.Fatal("not supervised")
	}
	if err := s.Ready("testing"); err != nil {
		t.Error(err)
	}
	slog.New(NewJournalHandler(slog.LevelInfo)).Warn("told the journal", "task", "bash-7", "owner", "o-2", "scope", "/review", "n", 1)
	g, err := s.OpenGroups()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("group", func(t *testing.T) { checkGroup(t, g, Limits{}) })
	t.Run("scope", func(t *testing.T) { checkScope(t, g) })
	t.Run("limits", func(t *testing.T) {
		l := Limits{Memory: 64 << 20, CPU: 100, PIDs: 100}
		if err := l.Possible(filepath.Dir(g.root)); err == nil {
			checkGroup(t, g, l)
			return
		}
		if _, _, err := g.Open(context.Background(), "t8", l); err == nil || !strings.Contains(err.Error(), "cannot be enforced here") {
			t.Errorf("limits without controllers: %v", err)
		}
	})
}

// checkGroup starts something in a group, and ends all of it.
func checkGroup(t *testing.T, g *Groups, l Limits) {
	dir, done, err := g.Open(context.Background(), "t7", l)
	if err != nil {
		t.Fatal(err)
	}
	cmd := inGroup(t, dir, `setsid sleep 600 & echo; exec sleep 600`)
	done()
	killGroup(t, dir)
	_ = cmd.Wait() // killed
	awaitEmpty(t, dir)
	if err := removeEmpty(dir); err != nil {
		t.Error(err)
	}
}

// checkScope makes a scope whether or not its limits can be enforced here: the
// manager knows them, and the command is in it alone.
func checkScope(t *testing.T, g *Groups) {
	ctx, cancel := context.WithTimeout(context.Background(), deadMan)
	defer cancel()
	start := time.Now()
	dir, done, err := g.scope(ctx, "t9", Limits{Memory: 64 << 20, CPU: 150, PIDs: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a scope takes %v", time.Since(start).Round(time.Millisecond))
	cmd := inGroup(t, dir, `setsid sleep 600 & echo; exec sleep 600`)
	done()
	if n := procs(t, dir); n != 2 {
		t.Errorf("%d processes in the scope, want the command's 2", n)
	}
	unit := filepath.Base(dir)
	out, err := exec.Command("systemctl", "--user", "show", "--property=ActiveState,MemoryMax,TasksMax,CPUQuotaPerSecUSec", unit).CombinedOutput()
	for _, want := range []string{"ActiveState=active", "MemoryMax=67108864", "TasksMax=100", "CPUQuotaPerSecUSec=1.500000s"} {
		if err != nil || !strings.Contains(string(out), want+"\n") {
			t.Errorf("%s: no %s in %s (%v)", unit, want, out, err)
		}
	}
	killGroup(t, dir)
	_ = cmd.Wait() // killed
	// The manager removes it, or we do, whoever sees first that it is empty.
	if _, err := os.Stat(dir); err == nil {
		awaitEmpty(t, dir)
	}
	if err := removeEmpty(dir); err != nil {
		t.Error(err)
	}
}
