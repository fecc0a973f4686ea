package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// What the manager's programs say is what a person reads. (With a real manager:
// scripts/test-systemd; there is no logind in it.)
func TestManager(t *testing.T) {
	bin := t.TempDir()
	atHome(t, bin)
	put(t, filepath.Join(bin, "systemctl"), `#!/bin/sh
case "$*" in
"--user --no-pager show-environment") echo 'LANG=C'; echo 'PATH=/usr/bin:/bin' ;;
"--user --no-pager show --property=ActiveState --value x.service") echo active ;;
*) echo "Failed to connect to bus: No medium found" >&2; exit 1 ;;
esac
`, 0o755)
	put(t, filepath.Join(bin, "loginctl"), "#!/bin/sh\necho \"$LINGER\"\n", 0o755)
	ctx := context.Background()
	m, err := findManager()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.path(ctx); got != "/usr/bin:/bin" {
		t.Errorf("the service's PATH is %q", got)
	}
	if got := m.property(ctx, "x.service", "ActiveState"); got != "active" {
		t.Errorf("ActiveState %q", got)
	}
	if err := m.check(ctx); err == nil || !strings.Contains(err.Error(), "your service manager cannot be reached: systemctl --user --no-pager show --property=Version: Failed to connect to bus: No medium found") {
		t.Errorf("no bus: %v", err)
	}
	for value, want := range map[string][2]bool{"yes": {true, true}, "no": {false, true}, "": {false, false}} {
		t.Setenv("LINGER", value)
		if yes, known := m.linger(ctx); yes != want[0] || known != want[1] {
			t.Errorf("Linger=%s: %t, %t", value, yes, known)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := m.ctl(gone, "show-environment"); !errors.Is(err, context.Canceled) {
		t.Errorf("after a signal: %v", err)
	}
}

func TestInstallWithoutKeeper(t *testing.T) {
	home := atHome(t, "")
	status, _, stderr := sidetask(t, "install") // the test binary has no keeper beside it
	if status != 1 || !strings.Contains(stderr, "sidetask-keeper is not beside this program") || !strings.Contains(stderr, "scripts/install") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if left, err := filepath.Glob(filepath.Join(home, ".local/bin/*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Without a daemon, units and binaries there is nothing to do, and nothing wrong.
func TestUninstallNothing(t *testing.T) {
	home := atHome(t, "")
	put(t, filepath.Join(home, ".local/state/sidetask/x"), "", 0o600)
	put(t, filepath.Join(home, ".config/sidetask/config.toml"), "", 0o600)
	put(t, filepath.Join(home, ".config/zed/settings.json"), `{"agent_servers": {"Claude (sidetask)": {}}, /* x */}`, 0o600)
	status, _, stderr := sidetask(t, "uninstall")
	for _, want := range []string{"stay in ~/.local/state/sidetask", "the configuration stays: ~/.config/sidetask/config.toml", "zed/settings.json still names sidetask"} {
		if status != 0 || !strings.Contains(stderr, want) {
			t.Errorf("status %d, no %q in %s", status, want, stderr)
		}
	}
}
