package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidetask/systemd"
)

func diagnose(t *testing.T) (status int, by map[string][]finding) {
	t.Helper()
	status, out, stderr := sidetask(t, "doctor", "--json")
	var result struct {
		Version  int
		Findings []finding
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil || result.Version != jsonVersion || stderr != "" {
		t.Fatalf("status %d, %q, %q: %v", status, out, stderr, err)
	}
	by = map[string][]finding{}
	for _, f := range result.Findings {
		by[f.About] = append(by[f.About], f)
	}
	return status, by
}

func has(list []finding, level, text string) bool {
	for _, f := range list {
		if f.Level == level && strings.Contains(f.Text+" → "+f.Next, text) {
			return true
		}
	}
	return false
}

// What is not there is said, with what to do; what is optional is no error.
func TestDoctor(t *testing.T) {
	bin := t.TempDir()
	put(t, filepath.Join(bin, "bash"), "#!/bin/sh\n", 0o755)
	put(t, filepath.Join(bin, "codex-acp"), "#!/bin/sh\n", 0o755)
	home := atHome(t, bin)
	_, found := diagnose(t)
	for _, want := range []struct{ about, level, text string }{
		{"program", "error", "no sidetask-keeper beside it"}, // the test binary has none
		{"program", "warning", "sidetask is not in your PATH"},
		{"config", "ok", "config.toml does not exist: the defaults are in force"},
		{"daemon", "ok", "none runs; the next command starts it"},
		{"service", "note", "not installed as a user service"},
		{"shell", "ok", filepath.Join(bin, "bash")},
		{"agents", "ok", "Codex (" + filepath.Join(bin, "codex-acp") + ")"},
		{"state", "ok", filepath.Join(home, ".local/state/sidetask")},
	} {
		if !has(found[want.about], want.level, want.text) {
			t.Errorf("no %s %q about %s in %+v", want.level, want.text, want.about, found[want.about])
		}
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	home := atHome(t, t.TempDir())
	put(t, filepath.Join(home, ".config/sidetask/config.toml"), "nonsense = 1\n[log]\nlevel = \"loud\"\n", 0o600)
	put(t, filepath.Join(home, ".local/state/sidetask/x"), "", 0o600)
	if err := os.Chmod(filepath.Join(home, ".local/state/sidetask"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, ".config/zed/settings.json"), "{}", 0o600)
	for _, name := range []string{systemd.SocketUnit, systemd.ServiceUnit} {
		text, err := systemd.Unit(name, "%h/gone/sidetask")
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(home, ".config/systemd/user", name), string(text)+"# mine\n", 0o600)
	}
	status, found := diagnose(t)
	if status != 1 {
		t.Errorf("status %d, want 1", status)
	}
	for _, want := range []struct{ about, level, text string }{
		{"config", "error", "config.toml:1:1"},
		{"config", "error", "config.toml:3"}, // all errors, not the first
		{"folders", "warning", "others may look into " + filepath.Join(home, ".local/state/sidetask")},
		{"service", "warning", "sidetask.service is not the one of this version"},
		{"service", "error", "sidetask.service runs " + filepath.Join(home, "gone/sidetask")},
		{"service", "warning", "there is no systemd on this system"},
		{"shell", "error", "bash"},
		{"agents", "note", "none of the known ones"},
	} {
		if !has(found[want.about], want.level, want.text) {
			t.Errorf("no %s %q about %s in %+v", want.level, want.text, want.about, found[want.about])
		}
	}
	if status, out, _ := sidetask(t, "doctor"); status != 1 || !strings.Contains(out, "error    shell") || !strings.Contains(out, "→ install it") {
		t.Errorf("for a person: status %d\n%s", status, out)
	}
}
