package acp

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestOddSurroundings: whatever an editor is started with, and says, its sessions
// are registered: the daemon refuses what no command could be started with.
func TestOddSurroundings(t *testing.T) {
	p := &proxy{o: Options{Env: []string{"A=1", "=C:=x", "none", "", "E==", "SIDETASK_TOKEN=x"}}}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{"": "", "/w": "/w", "rel/x": filepath.Join(here, "rel/x")} {
		r := p.registerOf(&session{cwd: cwd})
		if r.Cwd != want || !maps.Equal(r.Env, map[string]string{"A": "1", "E": "="}) {
			t.Errorf("%q: got %q, %q", cwd, r.Cwd, r.Env)
		}
	}
}
