package process

import (
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"

	"sidetask/registry"
)

// removed are variables that are about the service or the terminal of whoever
// started something, never about a task (BEHAVIOUR T190); besides them all
// SIDETASK_* and LISTEN_* and WATCHDOG_*.
var removed = []string{"NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "FORCE_COLOR", "CLICOLOR_FORCE"}

var removedPrefixes = []string{"SIDETASK_", "LISTEN_", "WATCHDOG_"}

// plain tells programs that no person looks on: neither colour nor pager.
var plain = map[string]string{"NO_COLOR": "1", "TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}

// usualPath is where programs are for whoever does not say.
const usualPath = "/usr/local/bin:/usr/bin:/bin"

// environment makes a command's variables: the owner's, what the start says
// over them, less what is nobody's business, and what T190 adds.
func environment(base, over map[string]string, terminal bool) map[string]string {
	env := make(map[string]string, len(base)+len(over)+8)
	maps.Copy(env, base)
	maps.Copy(env, over)
	maps.DeleteFunc(env, func(name, _ string) bool {
		return slices.Contains(removed, name) ||
			slices.ContainsFunc(removedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
	if env["PATH"] == "" {
		env["PATH"] = usualPath
	}
	if !terminal {
		maps.Copy(env, plain)
	} else if env["TERM"] == "" || env["TERM"] == "dumb" {
		env["TERM"] = "xterm-256color"
	}
	if env["LC_ALL"] == "" && env["LC_CTYPE"] == "" && env["LANG"] == "" {
		env["LANG"] = "C.UTF-8"
	}
	return env
}

// bare is the environment of whoever gave none: what a login has at least. The
// daemon's own is never a task's.
func bare() map[string]string {
	env := make(map[string]string)
	u, err := user.Current()
	if err != nil {
		return env
	}
	env["HOME"], env["USER"], env["LOGNAME"] = u.HomeDir, u.Username, u.Username
	return env
}

// list gives the variables as exec takes them, and checks their size.
func list(env map[string]string, command string) ([]string, error) {
	all := make([]string, 0, len(env))
	total := len(command)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		v := name + "=" + env[name]
		if len(v) > maxArg {
			return nil, invalid("invalid env: %s has %d bytes, at most %d are possible", name, len(v), maxArg)
		}
		total += len(v) + 9 // its NUL and its pointer
		all = append(all, v)
	}
	if total > maxArgs {
		return nil, invalid("invalid env: command and variables have %d bytes together, at most %d are possible", total, maxArgs)
	}
	return all, nil
}

// home is where commands of someone without a working directory run.
func home(env map[string]string) string {
	if dir := env["HOME"]; dir != "" {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return "/"
}

// basis is what the caller's commands inherit: the owner's variables and
// working directory.
func (p *Producer) basis(c registry.Caller) (env map[string]string, cwd string) {
	if h, ok := c.Owner(); ok {
		if owner, ok := p.registry.Owner(h); ok {
			env, cwd = owner.Env, owner.Cwd
		}
	}
	return env, cwd
}

// identify sets what a command may know of sidetask: where it listens, and
// which task it is: by its row, for there is no id yet when it starts. No id is
// all digits.
func (p *Producer) identify(env map[string]string, row registry.Row) {
	env["SIDETASK_SOCKET"] = p.socket
	env["SIDETASK_TASK"] = name(row)
}
