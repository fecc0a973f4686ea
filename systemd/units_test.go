package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnitProgram(t *testing.T) {
	for _, c := range []struct{ binary, want string }{
		{"%h/.local/bin/sidetask", "ExecStart=%h/.local/bin/sidetask daemon"},
		{"/opt/my tools/sidetask", `ExecStart="/opt/my tools/sidetask" daemon`},
		{`/opt/100%/a"b/sidetask`, `ExecStart="/opt/100%%/a\"b/sidetask" daemon`},
	} {
		text, err := Unit(ServiceUnit, c.binary)
		if err != nil {
			t.Errorf("Unit(%q): %v", c.binary, err)
			continue
		}
		if !strings.Contains(string(text), "\n"+c.want+"\n") || strings.Contains(string(text), "@BINARY@") {
			t.Errorf("Unit(%q) has no line %s", c.binary, c.want)
		}
		if got := Program(text); got != c.binary {
			t.Errorf("Program of Unit(%q) = %q", c.binary, got)
		}
	}
	for _, bad := range []string{"sidetask", "", "./x", "/a\nExecStart=/bin/rm"} {
		if _, err := Unit(ServiceUnit, bad); err == nil {
			t.Errorf("Unit(%q): no error", bad)
		}
	}
	if _, err := Unit("other.service", "/bin/true"); err == nil {
		t.Error("a unit that does not exist: no error")
	}
}

// What the units promise elsewhere: the path that clients look at, the modes, the
// statuses, and tasks that outlive the daemon.
func TestUnitPromises(t *testing.T) {
	for unit, lines := range map[string][]string{
		SocketUnit:  {"ListenStream=%t/sidetask/sidetask.sock", "SocketMode=0600", "DirectoryMode=0700", "FileDescriptorName=" + ListenerName},
		ServiceUnit: {"Type=notify", "KillMode=process", "Delegate=yes", "OOMPolicy=continue", "RestartPreventExitStatus=75 78"},
	} {
		text, err := Unit(unit, "/bin/true")
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if !strings.Contains(string(text), "\n"+line+"\n") {
				t.Errorf("%s has no line %s", unit, line)
			}
		}
	}
}

// systemd-analyze is silent about them. (With a real user manager: scripts/test-systemd.)
func TestUnitsVerify(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed here")
	}
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{SocketUnit, ServiceUnit} {
		text, err := Unit(name, "/bin/true")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	cmd := exec.Command(analyze, append([]string{"--user", "verify"}, paths...)...)
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}
