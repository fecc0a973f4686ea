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

// watches checks whether files can be watched, or have to be polled.
func (d *doctor) watches() {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		d.warn("inotify", "raise fs.inotify.max_user_instances and max_user_watches (sysctl)", "files cannot be watched: the configuration is polled (%v)", err)
		return
	}
	defer func() { _ = w.Close() }() // nothing was asked of it
	if err := w.Add(os.TempDir()); err != nil {
		d.warn("inotify", "raise fs.inotify.max_user_watches (sysctl)", "files cannot be watched: the configuration is polled (%v)", err)
		return
	}
	d.ok("inotify", "files can be watched")
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
	var bare *fs.PathError
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("the shell %s is not in your PATH: no command can be started", shell)
	case errors.As(err, &bare):
		err = bare.Err
	default:
		err = errors.Unwrap(err)
	}
	return "", fmt.Errorf("the shell %s cannot be run (%w): no command can be started", shell, err)
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
	path, err := zedSettings()
	if err != nil {
		return
	}
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return // no Zed here
	case hasEntry(text):
		d.ok("editor", "Zed has an agent that runs through sidetask")
	case slices.ContainsFunc([]string{"zed", "zeditor"}, func(name string) bool { _, err := exec.LookPath(name); return err == nil }):
		d.note("editor", "sidetask install --editor zed --write", "Zed (%s) has no agent that runs through sidetask", filepath.Base(path))
	}
}
