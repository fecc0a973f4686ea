package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
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
	{"Gemini", []string{"gemini", "--acp"}, "gemini_cli", "agent-shell-google-gemini-acp-command"},
	{"OpenCode", []string{"opencode", "acp"}, "opencode", "agent-shell-opencode-acp-command"},
}

// chooseAgent is the one that args name, or the first on the PATH, or Claude's
// by npx; its program is absolute where it is found, for an editor with a short
// PATH. doubt is what the person should know of the choice, if anything.
func chooseAgent(args []string) (a agent, doubt []string) {
	if len(args) > 0 {
		a, doubt = agentOf(args)
	} else if a = found(); a.name == "" {
		a = agents[0]
		a.command = []string{"npx", "-y", "@agentclientprotocol/claude-agent-acp"}
		doubt = append(doubt, "none of the agents that it knows is in your PATH: this one is to be fetched by npx; name another behind --")
	}
	program := a.command[0]
	path, err := exec.LookPath(program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	switch {
	case err == nil:
		a.command = append([]string{path}, a.command[1:]...)
	case strings.ContainsRune(program, filepath.Separator):
		doubt = append(doubt, program+" is no program that can be run")
	default:
		doubt = append(doubt, program+" is not in your PATH: install it, or give the path of the agent's program behind --")
	}
	return a, doubt
}

// found is the first known agent on the PATH, or none.
func found() agent {
	for _, a := range agents {
		if _, err := exec.LookPath(a.command[0]); err == nil {
			return a
		}
	}
	return agent{}
}

// agentOf is the known agent of a command line, or one of that name. To a known one
// that is given alone comes what it needs to speak ACP, and doubt says so.
func agentOf(command []string) (a agent, doubt []string) {
	name := filepath.Base(command[0])
	for _, a := range agents {
		if name != a.command[0] {
			continue
		}
		if needs := a.command[1:]; len(command) == 1 && len(needs) > 0 {
			command = append(command[:1:1], needs...)
			doubt = append(doubt, fmt.Sprintf("%s speaks ACP as `%s` only, so that is what the entry has", name, quoteAll(a.command)))
		}
		a.command = command
		return a, doubt
	}
	return agent{name: name, command: command}, nil
}

// word is the agent's name as an identifier of Lua or Lisp.
func (a agent) word() string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, a.name)
}
