package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// atHome runs the test as a person with an empty home and nothing in the PATH
// but what it is given.
func atHome(t *testing.T, path string) string {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "PATH": path, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "XDG_RUNTIME_DIR": "", "SIDETASK_SOCKET": filepath.Join(home, "s"), "SIDETASK_CONFIG": ""} {
		t.Setenv(name, value)
	}
	return home
}

func sidetask(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	status = run(context.Background(), args, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

func put(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestInstallEditorPrints(t *testing.T) {
	home := atHome(t, "")
	put(t, filepath.Join(home, ".local/bin/sidetask"), "x", 0o755)
	program := filepath.Join(home, ".local/bin/sidetask")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"zed", "--", "codex-acp", "-c", "a b"}, `{
  "agent_servers": {
    "Codex (sidetask)": {
      "type": "custom",
      "command": "PROGRAM",
      "args": [
        "acp",
        "--",
        "codex-acp",
        "-c",
        "a b"
      ],
      "env": {}
    }
  }
}
`},
		{[]string{"jetbrains", "--preset", "/review", "--", "/opt/my-agent"}, `{
  "agent_servers": {
    "my-agent (sidetask /review)": {
      "command": "PROGRAM",
      "args": [
        "acp",
        "--preset",
        "/review",
        "--",
        "/opt/my-agent"
      ],
      "env": {}
    }
  }
}
`},
		{[]string{"neovim"}, `require("codecompanion").setup({
  adapters = {
    acp = {
      claude_code = function()
        return require("codecompanion.adapters").extend("claude_code", {
          commands = { default = { "PROGRAM", "acp", "--", "npx", "-y", "@agentclientprotocol/claude-agent-acp" } },
        })
      end,
    },
  },
})
`},
		{[]string{"emacs", "--", "gemini", "--acp"}, `(setq agent-shell-google-gemini-acp-command
      '("PROGRAM" "acp" "--" "gemini" "--acp"))
`},
		// One that the editor does not have must not take the place of one that it has.
		{[]string{"neovim", "--", "/opt/my-agent", "acp"}, `require("codecompanion").setup({
  adapters = {
    acp = {
      agent_my_agent = function()
        return require("codecompanion.adapters").extend("claude_code", {
          name = "agent_my_agent",
          formatted_name = "my-agent",
          commands = { default = { "PROGRAM", "acp", "--", "/opt/my-agent", "acp" } },
        })
      end,
    },
  },
})
`},
		{[]string{"emacs", "--", "my-agent", "<a>"}, `(with-eval-after-load 'agent-shell
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier 'agent_my_agent
                :mode-line-name "my_agent"
                :buffer-name "my_agent"
                :shell-prompt "my_agent> "
                :shell-prompt-regexp "my_agent> "
                :client-maker (lambda (buffer)
                                (acp-make-client :command "PROGRAM"
                                                 :command-params '("acp" "--" "my-agent" "<a>")
                                                 :context-buffer buffer)))))
`},
	} {
		status, out, stderr := sidetask(t, append([]string{"install", "--editor"}, c.args...)...)
		if diff := cmp.Diff(strings.ReplaceAll(c.want, "PROGRAM", program), out); status != 0 || diff != "" {
			t.Errorf("%v: status %d, %s(-want +got):\n%s", c.args, status, stderr, diff)
		}
		if !strings.Contains(stderr, "sidetask: this goes into ") {
			t.Errorf("%v: stderr %q does not say where it goes", c.args, stderr)
		}
		if !strings.Contains(stderr, " is not in your PATH") && !strings.Contains(stderr, "/opt/my-agent is no program") {
			t.Errorf("%v: stderr %q does not say that there is no such agent", c.args, stderr)
		}
	}
}

// The agent that is found is the one that is proposed, by its absolute path; where
// none is, npx is, and that is said.
func TestInstallEditorFindsAgent(t *testing.T) {
	bin := t.TempDir()
	npx := filepath.Join(bin, "npx")
	put(t, npx, "#!/bin/sh\n", 0o755)
	atHome(t, bin)
	status, out, stderr := sidetask(t, "install", "--editor", "emacs")
	if status != 0 || !strings.Contains(out, `"--" "`+npx+`" "-y"`) || !strings.Contains(stderr, "fetched by npx") || strings.Contains(stderr, "is not in your PATH:") {
		t.Errorf("status %d, %s%s", status, out, stderr)
	}
	agent := filepath.Join(bin, "opencode")
	put(t, agent, "#!/bin/sh\n", 0o755)
	status, out, stderr = sidetask(t, "install", "--editor", "emacs", "--", "opencode")
	if status != 0 || !strings.Contains(out, `"--" "`+agent+`" "acp"`) || !strings.Contains(stderr, "sidetask: opencode speaks ACP as `opencode acp` only, so that is what the entry has\n") {
		t.Errorf("opencode alone: status %d, %s%s", status, out, stderr)
	}
	for _, args := range [][]string{nil, {"--", "opencode", "acp"}} {
		status, out, stderr := sidetask(t, append([]string{"install", "--editor", "emacs"}, args...)...)
		if status != 0 || !strings.Contains(out, `"--" "`+agent+`" "acp"`) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: status %d, %s%s", args, status, out, stderr)
		}
	}
}

// Zed's settings keep their comments and their mode, a copy is left, a second time
// changes nothing, and a link stays one.
func TestInstallWritesZed(t *testing.T) {
	home := atHome(t, "")
	settings := filepath.Join(home, "dotfiles/zed.json")
	link := filepath.Join(home, ".config/zed/settings.json")
	const old = "// mine\n{\n  \"theme\": \"One\", // dark\n}\n"
	put(t, settings, old, 0o640)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(settings, link); err != nil {
		t.Fatal(err)
	}
	write := func() (int, string) {
		status, _, stderr := sidetask(t, "install", "--editor", "zed", "--write", "--", "codex-acp")
		return status, stderr
	}
	if status, stderr := write(); status != 0 || !strings.Contains(stderr, `has "Codex (sidetask)" now; what it was before is in ~/dotfiles/zed.json.before-sidetask-`) {
		t.Fatalf("status %d, %s", status, stderr)
	}
	text := get(t, settings)
	if !strings.HasPrefix(text, "// mine\n{\n  \"theme\": \"One\", // dark\n  \"agent_servers\": {\n    \"Codex (sidetask)\": {\n      \"type\": \"custom\",") {
		t.Errorf("written:\n%s", text)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v, %v", info, err)
	}
	if info, err := os.Stat(settings); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode of the settings: %v, %v", info, err)
	}
	backups, err := filepath.Glob(settings + ".before-sidetask-*")
	if err != nil || len(backups) != 1 || get(t, backups[0]) != old {
		t.Errorf("backups %v, %v", backups, err)
	}
	if status, stderr := write(); status != 0 || !strings.Contains(stderr, "already") || get(t, settings) != text {
		t.Errorf("a second time: status %d, %s", status, stderr)
	}
	if again, err := filepath.Glob(settings + ".before-sidetask-*"); err != nil || len(again) != 1 {
		t.Errorf("a second backup: %v, %v", again, err)
	}
}

// A link that leads nowhere stays a link: what it leads to may come back.
func TestInstallZedDanglingLink(t *testing.T) {
	home := atHome(t, "")
	settings := filepath.Join(home, ".config/zed/settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, "dotfiles/zed.json"), settings); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := sidetask(t, "install", "--editor", "zed", "--write", "--", "codex-acp")
	if status != 1 || !strings.Contains(stderr, "settings.json leads nowhere: ") || !strings.Contains(stderr, "make the file that it leads to") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if info, err := os.Lstat(settings); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v, %v", info, err)
	}
}

func TestInstallRefusesZedSettings(t *testing.T) {
	home := atHome(t, "")
	settings := filepath.Join(home, ".config/zed/settings.json")
	put(t, settings, "{\n  broken\n", 0o600)
	status, _, stderr := sidetask(t, "install", "--editor", "zed", "--write")
	if status != 1 || !strings.Contains(stderr, "settings.json:2:3: a string is wanted here") || get(t, settings) != "{\n  broken\n" {
		t.Errorf("status %d, %s", status, stderr)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(settings), "*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestInstallMisuse(t *testing.T) {
	atHome(t, "")
	for _, args := range [][]string{
		{"install", "--editor", "ed"},
		{"install", "--editor", "neovim", "--write"},
		{"install", "--write"},
		{"install", "codex-acp"},
		{"install", "--editor", "zed", "--preset", "review"}, // as `sidetask acp`
		{"install", "--editor", "zed", "--preset", ""},
		{"install", "--editor", "zed", "--systemd"},
	} {
		if status, _, stderr := sidetask(t, args...); status != statusUsage {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
	// The program that an editor is to run must be where --bin says.
	elsewhere := t.TempDir()
	if status, out, stderr := sidetask(t, "install", "--editor", "zed", "--bin", elsewhere); status != 1 || out != "" || !strings.Contains(stderr, "no sidetask in the folder of --bin") {
		t.Errorf("status %d, %s%s", status, out, stderr)
	}
	put(t, filepath.Join(elsewhere, "sidetask"), "x", 0o755)
	if status, out, stderr := sidetask(t, "install", "--editor", "zed", "--bin", elsewhere); status != 0 || !strings.Contains(out, `"command": "`+elsewhere+`/sidetask"`) {
		t.Errorf("status %d, %s%s", status, out, stderr)
	}
	// Without a systemd nothing is written.
	home := atHome(t, "")
	status, _, stderr := sidetask(t, "install", "--systemd")
	if status != 1 || !strings.Contains(stderr, "there is no systemd on this system") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A binary is replaced while it runs, and left alone when it is the same.
func TestCopyProgram(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "bin", "to")
	big := strings.Repeat("x", 200<<10)
	for i, c := range []struct {
		text    string
		changed bool
	}{{big + "1", true}, {big + "1", false}, {big + "2", true}, {"short", true}, {"short", false}} {
		put(t, from, c.text, 0o700)
		changed, err := copyProgram(from, to)
		if err != nil || changed != c.changed || get(t, to) != c.text {
			t.Errorf("%d: changed %t, %v; want %t", i, changed, err, c.changed)
		}
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%d: mode %v, %v", i, info, err)
		}
	}
	if changed, err := copyProgram(to, to); err != nil || changed {
		t.Errorf("onto itself: %t, %v", changed, err)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := copyProgram(filepath.Join(dir, "none"), to); !os.IsNotExist(err) {
		t.Errorf("of nothing: %v", err)
	}
}

func TestWriteZedBackupNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	e := entry{agent: agents[1], program: "/p"}
	if changed, backup, err := e.writeZed(path, time.Now()); !changed || backup != "" || err != nil {
		t.Errorf("a new file: %t, %q, %v", changed, backup, err)
	}
	e.program = "/q"
	changed, backup, err := e.writeZed(path, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
	if !changed || backup != path+".before-sidetask-20260203-040506" || err != nil {
		t.Errorf("another program: %t, %q, %v", changed, backup, err)
	}
	// Within the same second, too, each has its own.
	for i, program := range []string{"/r", "/s"} {
		before := get(t, path)
		e.program = program
		changed, next, err := e.writeZed(path, time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC))
		if want := fmt.Sprintf("%s-%d", backup, i+2); !changed || next != want || err != nil || get(t, next) != before {
			t.Errorf("%s: %t, %q, %v; want %q with what was there before", program, changed, next, err, want)
		}
	}
	if !strings.Contains(get(t, backup), `"/p"`) {
		t.Errorf("the first copy was replaced: %s", get(t, backup))
	}
}

func TestStillThere(t *testing.T) {
	for _, c := range []struct {
		live, left int
		want       string
	}{
		{1, 0, "not yet ended: 1 running task"},
		{2, 1, "not yet ended: 2 running tasks and 1 ended task with processes left running"},
		{0, 3, "not yet ended: 3 ended tasks with processes left running"},
	} {
		if got := stillThere(c.live, c.left); got != c.want {
			t.Errorf("%d, %d: %q, want %q", c.live, c.left, got, c.want)
		}
	}
}
