package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// agent is an ACP agent that this program knows by name.
type agent struct {
	name     string
	command  []string
	neovim   string // CodeCompanion's adapter
	variable string // agent-shell's variable for the command
}

// agents are those that the proxy is tested with, the first that is found being
// the default.
var agents = []agent{
	{"Claude", []string{"claude-agent-acp"}, "claude_code", "agent-shell-anthropic-claude-acp-command"},
	{"Codex", []string{"codex-acp"}, "codex", "agent-shell-openai-codex-acp-command"},
	{"Gemini", []string{"gemini", "--experimental-acp"}, "gemini_cli", "agent-shell-google-gemini-acp-command"},
	{"OpenCode", []string{"opencode", "acp"}, "opencode", "agent-shell-opencode-acp-command"},
}

// chooseAgent is the one that args name, or the first on the PATH, or Claude's
// by npx.
func chooseAgent(args []string) agent {
	if len(args) == 0 {
		for _, a := range agents {
			if _, err := exec.LookPath(a.command[0]); err == nil {
				return a
			}
		}
		a := agents[0]
		a.command = []string{"npx", "-y", "@agentclientprotocol/claude-agent-acp"}
		return a
	}
	for _, a := range agents {
		if filepath.Base(args[0]) == a.command[0] {
			a.command = args
			return a
		}
	}
	a := agents[0]
	a.name, a.command = filepath.Base(args[0]), args
	return a
}

// entry is what an editor is told to run, and where.
type entry struct {
	agent   agent
	program string // sidetask, absolute
	preset  string
}

// command is the whole command line.
func (e entry) command() []string {
	line := []string{e.program, "acp"}
	if e.preset != "" {
		line = append(line, "--preset", e.preset)
	}
	return append(append(line, "--"), e.agent.command...)
}

// title is what the person picks in the editor.
func (e entry) title() string {
	if e.preset != "" {
		return e.agent.name + " (sidetask " + e.preset + ")"
	}
	return e.agent.name + " (sidetask)"
}

// server is the entry as Zed and JetBrains have it.
type server struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

func (e entry) server(kind string) server {
	line := e.command()
	return server{Type: kind, Command: line[0], Args: line[1:], Env: map[string]string{}}
}

// editors are the names that --editor takes.
var editors = []string{"zed", "jetbrains", "neovim", "emacs"}

// text is the entry for one of the editors, and where it goes.
func (e entry) text(editor string) (text, where string, err error) {
	line := e.command()
	switch editor {
	case "zed":
		text, err = pretty(map[string]any{"agent_servers": map[string]any{e.title(): e.server("custom")}})
		return text, "Zed's settings.json (action `zed: open settings file`), or let `--write` do it", err
	case "jetbrains":
		text, err = pretty(map[string]any{"agent_servers": map[string]any{e.title(): e.server("")}})
		return text, "~/.jetbrains/acp.json (AI Chat: Add Custom Agent)", err
	case "neovim":
		return fmt.Sprintf(`require("codecompanion").setup({
  adapters = {
    acp = {
      %[1]s = function()
        return require("codecompanion.adapters").extend("%[1]s", {
          commands = { default = { %[2]s } },
        })
      end,
    },
  },
})
`, e.agent.neovim, quoted(line, ", ")), "the set-up of CodeCompanion in Neovim", nil
	case "emacs":
		return fmt.Sprintf("(setq %s\n      '(%s))\n", e.agent.variable, quoted(line, " ")), "your init file, for agent-shell", nil
	}
	return "", "", misuse("it knows "+strings.Join(editors, ", "), "no entry for the editor %q", editor)
}

func pretty(v any) (string, error) {
	text, err := edit{unit: "  ", line: "\n"}.format(v)
	return text + "\n", err
}

// quoted writes strings as JSON has them, which Lua and Emacs Lisp read alike
// for what a command line consists of.
func quoted(list []string, between string) string {
	var out []string
	for _, s := range list {
		text, _ := json.Marshal(s) // a string always has its JSON
		out = append(out, string(text))
	}
	return strings.Join(out, between)
}

// zedSettings is where Zed keeps its settings.
func zedSettings() (string, error) {
	base := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "zed", "settings.json"), nil
}

// maxSettings bounds the file that is read into memory.
const maxSettings = 4 << 20

// writeZed puts the entry into Zed's settings. It says whether the file
// changed and which copy has what it was before, "" where there was none.
func (e entry) writeZed(path string, now time.Time) (changed bool, backup string, err error) {
	// A settings file of a dotfile manager is a link; what it leads to is edited.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	mode := fs.FileMode(0o600)
	info, err := os.Stat(path)
	if err == nil {
		mode = info.Mode().Perm()
		if info.Size() > maxSettings {
			return false, "", fail("add the entry by hand", "%s has %d bytes, more than settings have", path, info.Size())
		}
	}
	old, err := os.ReadFile(path)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return false, "", err
	}
	text, err := setMember(old, []string{"agent_servers", e.title()}, e.server("custom"))
	if err != nil {
		return false, "", fail("correct the file, or add the entry that `sidetask install --editor zed` prints by hand", "%s:%w", path, err)
	}
	if slices.Equal(text, old) {
		return false, "", nil
	}
	if !absent {
		backup = path + ".before-sidetask-" + now.Format("20060102-150405")
		if err := writeFile(backup, old, mode); err != nil {
			return false, "", err
		}
	}
	return true, backup, writeFile(path, text, mode)
}
