package acp

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// house is the program, built, with folders of its own.
type house struct {
	bin string
	env []string
}

func newHouse(t testing.TB) *house {
	t.Helper()
	home, err := os.MkdirTemp("", "st") // short: a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	h := &house{bin: filepath.Join(home, "bin")}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SIDETASK_") && !strings.HasPrefix(v, "XDG_") {
			h.env = append(h.env, v)
		}
	}
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"} {
		if err := os.Mkdir(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		h.env = append(h.env, name+"="+filepath.Join(home, name))
	}
	if out, err := exec.Command("go", "build", "-o", h.bin+"/", "../cmd/...").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(func() {
		_ = h.command("daemon", "stop").Run()
		_ = os.RemoveAll(home)
	})
	return h
}

func (h *house) command(args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(h.bin, "sidetask"), args...)
	c.Env = h.env
	return c
}
