package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"sidetask/config"
	"sidetask/systemd"
)

// limits checks whether the limits that the configuration asks for can be had.
func (d *doctor) limits(settings *config.Settings) {
	if settings == nil {
		return
	}
	c := settings.Commands
	l := systemd.Limits{Memory: c.MemoryBytes(), CPU: c.CPUPercent(), PIDs: c.PidsMax}
	if !l.Any() {
		return
	}
	uid := os.Getuid()
	dir := fmt.Sprintf("/sys/fs/cgroup/user.slice/user-%d.slice/user@%d.service", uid, uid)
	if err := l.Possible(dir); err != nil {
		d.wrong("limits", "remove them from [commands]: a start is refused with them", "%v", err)
		return
	}
	d.ok("limits", "memoryMax, cpuMax and pidsMax can be enforced")
}

// policies checks whether the programs that are asked about tool calls can be run.
func (d *doctor) policies(settings *config.Settings) {
	if settings == nil {
		return
	}
	for _, text := range deadPolicies(settings) {
		d.warn("policy", "put the program there and make it executable (chmod +x), or take its [[policy]] away", "%s", text)
	}
}

// watches checks whether the configuration's folder can be watched, or has to be
// polled.
func (d *doctor) watches(folder string) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		d.warn("inotify", "raise fs.inotify.max_user_instances (sysctl)", "the configuration is polled, for nothing can be watched: %v", err)
		return
	}
	defer func() { _ = w.Close() }() // nothing was asked of it
	folder = existing(folder)
	switch err := w.Add(folder); {
	case err == nil:
		d.ok("inotify", "files can be watched")
	case errors.Is(err, fs.ErrPermission):
		d.warn("inotify", "see to it that you may read that folder", "the configuration is polled, for %s cannot be watched: %v", folder, err)
	default:
		d.warn("inotify", "raise fs.inotify.max_user_watches (sysctl)", "the configuration is polled, for %s cannot be watched: %v", folder, err)
	}
}

// shell checks what commands are run with.
func (d *doctor) shell(settings *config.Settings) {
	shell := "bash"
	if settings != nil {
		shell = settings.Commands.Shell
	}
	path, err := findShell(shell)
	if err != nil {
		d.wrong("shell", shellAdvice, "%v", err)
		return
	}
	d.ok("shell", "%s", path)
}

// shellAdvice is what to do about an error of findShell.
const shellAdvice = "install it, or set [commands] shell to one that is there"

// findShell finds what this person's commands are run with. The daemon looks in
// the PATH of each command, so this is what holds for those of `sidetask run`.
func findShell(shell string) (string, error) {
	path, err := exec.LookPath(shell)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("the shell %s is not in your PATH: no command can be started", shell)
	}
	return "", fmt.Errorf("the shell %s cannot be run (%w): no command can be started", shell, bare(err))
}

// agents says which agents can be put behind the proxy.
func (d *doctor) agents() {
	var found []string
	for _, a := range agents {
		if path, err := exec.LookPath(a.command[0]); err == nil {
			found = append(found, a.name+" ("+path+")")
		}
	}
	if len(found) == 0 {
		var names []string
		for _, a := range agents {
			names = append(names, a.command[0])
		}
		d.note("agents", "`sidetask install --editor zed -- AGENT ARGS…` takes any", "none of the known ones is in your PATH: %s", strings.Join(names, ", "))
	} else {
		d.ok("agents", "%s", strings.Join(found, ", "))
	}
	d.editor()
}

// editor looks at what Zed runs.
func (d *doctor) editor() {
	path, err := zedSettings()
	if err != nil {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return // no Zed here
	}
	if !hasEntry(text) {
		if slices.ContainsFunc([]string{"zed", "zeditor"}, func(name string) bool { _, err := exec.LookPath(name); return err == nil }) {
			d.note("editor", "sidetask install --editor zed --write", "Zed (%s) has no agent that runs through sidetask", filepath.Base(path))
		}
		return
	}
	sound := true
	for _, s := range ownServers(text) {
		for _, program := range s.programs() {
			if _, err := exec.LookPath(program); err != nil {
				sound = false
				d.wrong("editor", "`sidetask install --editor zed` prints an entry that works here", "Zed's agent %q runs %s, which cannot be run: %v", s.title, program, bare(err))
			}
		}
	}
	if sound {
		d.ok("editor", "Zed has an agent that runs through sidetask")
	}
}

// bare is an error of exec.LookPath without the path, which is said already.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
