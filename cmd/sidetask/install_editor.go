package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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
	switch editor {
	case "zed":
		text, err = pretty(map[string]any{"agent_servers": map[string]any{e.title(): e.server("custom")}})
		return text, "Zed's settings.json (action `zed: open settings file`), or let `--write` do it", err
	case "jetbrains":
		text, err = pretty(map[string]any{"agent_servers": map[string]any{e.title(): e.server("")}})
		return text, "~/.jetbrains/acp.json (AI Chat: Add Custom Agent)", err
	case "neovim":
		return e.neovim(), "the set-up of CodeCompanion in Neovim", nil
	case "emacs":
		return e.emacs(), "your init file, for agent-shell", nil
	}
	return "", "", misuse("it knows "+strings.Join(editors, ", "), "no entry for the editor %q", editor)
}

// neovim is CodeCompanion's adapter. An agent that it has none for gets one of its
// own name, which is Claude's but for name and command.
func (e entry) neovim() string {
	key, base, names := e.agent.neovim, e.agent.neovim, ""
	if key == "" {
		key, base = "agent_"+e.agent.word(), agents[0].neovim
		names = fmt.Sprintf("\n          name = %q,\n          formatted_name = %s,", key, quoted([]string{e.agent.name}, ""))
	}
	return fmt.Sprintf(`require("codecompanion").setup({
  adapters = {
    acp = {
      %s = function()
        return require("codecompanion.adapters").extend("%s", {%s
          commands = { default = { %s } },
        })
      end,
    },
  },
})
`, key, base, names, quoted(e.command(), ", "))
}

// emacs sets agent-shell's command for the agent, or adds a configuration for one
// that it does not have.
func (e entry) emacs() string {
	line := e.command()
	if e.agent.variable != "" {
		return fmt.Sprintf("(setq %s\n      '(%s))\n", e.agent.variable, quoted(line, " "))
	}
	return fmt.Sprintf(`(with-eval-after-load 'agent-shell
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier 'agent_%[1]s
                :mode-line-name "%[1]s"
                :buffer-name "%[1]s"
                :shell-prompt "%[1]s> "
                :shell-prompt-regexp "%[1]s> "
                :client-maker (lambda (buffer)
                                (acp-make-client :command %[2]s
                                                 :command-params '(%[3]s)
                                                 :context-buffer buffer)))))
`, e.agent.word(), quoted(line[:1], ""), quoted(line[1:], " "))
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
		text, _ := edit{}.format(s) // a string always has its JSON
		out = append(out, text)
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
	} else if _, noLink := os.Lstat(path); noLink == nil {
		return false, "", fail("make the file that it leads to, or remove the link", "the link %s leads nowhere: %w", path, err)
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
		if backup, err = keepCopy(path+".before-sidetask-"+now.Format("20060102-150405"), old, mode); err != nil {
			return false, "", err
		}
	}
	return true, backup, writeFile(path, text, mode)
}
