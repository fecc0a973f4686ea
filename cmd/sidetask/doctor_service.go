package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sidetask/systemd"
)

// service checks the user units and what they get from the manager.
func (d *doctor) service(ctx context.Context) {
	m, err := findManager()
	if err != nil {
		d.wrong("service", "", "%v", err)
		return
	}
	d.manager = m
	reached := m.check(ctx)
	if !d.unitFiles(reached == nil) {
		return
	}
	if err := reached; err != nil {
		d.warn("service", "log in as this user: su and sudo make no session of its own", "%v", err)
		return
	}
	d.unitStates(ctx)
	if yes, known := m.linger(ctx); !known {
		d.note("linger", "", "whether the service outlives your logout is not known (no logind)")
	} else if !yes {
		d.warn("linger", "loginctl enable-linger", "at your last logout the service and all tasks end")
	} else {
		d.ok("linger", "the service outlives your logout")
	}
	d.servicePath(ctx)
}

// unitFiles compares the installed units with those that this program brings,
// and says whether there are any. Without a manager none are missed.
func (d *doctor) unitFiles(manager bool) bool {
	for _, name := range []string{systemd.SocketUnit, systemd.ServiceUnit} {
		path := filepath.Join(d.manager.units, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			next := "`sidetask install --systemd`: then it is there from your login on, tasks outlive `sidetask daemon stop` and, with linger, your logout, and the journal has its log"
			if !manager {
				next = ""
			}
			d.note("service", next, "not installed as a user service; the first command starts the daemon")
			return false
		} else if err != nil {
			d.wrong("service", "", "%v", err)
			return false
		}
		program := systemd.Program(text)
		want, err := systemd.Unit(name, program)
		if name == systemd.SocketUnit {
			want, err = systemd.Unit(name, "/unused")
		}
		if err != nil || !bytes.Equal(text, want) {
			d.warn("service", "`sidetask install --systemd` writes it again; own changes belong into `systemctl --user edit "+name+"`", "%s is not the one of this version", tilde(path))
		}
		if file := expandHome(program); file != "" {
			if _, err := os.Stat(file); err != nil {
				d.wrong("service", "`sidetask install --systemd`", "%s runs %s: %v", name, file, err)
			}
		}
	}
	return true
}

// expandHome puts the home folder in the place of its specifier.
func expandHome(program string) string {
	rest, ok := strings.CutPrefix(program, "%h/")
	if !ok {
		return program
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, rest)
}

// unitStates asks the manager how the units are.
func (d *doctor) unitStates(ctx context.Context) {
	reset := "`systemctl --user reset-failed 'sidetask.*'` and `systemctl --user start sidetask.socket`; `journalctl --user -u sidetask` has the reason"
	service := d.manager.property(ctx, systemd.ServiceUnit, "ActiveState")
	result := d.manager.property(ctx, systemd.ServiceUnit, "Result")
	if service == "failed" {
		d.wrong("service", reset, "%s has failed (%s)", systemd.ServiceUnit, result)
	}
	socket := d.manager.property(ctx, systemd.SocketUnit, "ActiveState")
	switch {
	case socket == "failed":
		d.wrong("service", reset, "%s has failed (%s)", systemd.SocketUnit, d.manager.property(ctx, systemd.SocketUnit, "Result"))
	case socket != "active":
		d.warn("service", "systemctl --user enable --now sidetask.socket", "%s is %s: the first command starts a daemon that is no service", systemd.SocketUnit, socket)
	case d.manager.property(ctx, systemd.SocketUnit, "UnitFileState") != "enabled":
		d.warn("service", "systemctl --user enable sidetask.socket", "%s is not enabled: it does not come back at the next login", systemd.SocketUnit)
	case service != "failed":
		d.ok("service", "%s is active, %s %s", systemd.SocketUnit, systemd.ServiceUnit, service)
	}
	if d.status != nil && d.status.Supervisor != "systemd" {
		d.warn("service", "`sidetask install --systemd` hands its tasks over to the service", "the daemon that answers (pid %d, %s) is not the service", d.status.PID, d.status.Supervisor)
	}
	if d.manager.property(ctx, systemd.ServiceUnit, "NeedDaemonReload") == "yes" {
		d.warn("service", "systemctl --user daemon-reload", "the manager has not read the unit files since they changed")
	}
}

// servicePath compares the service's PATH with the person's: policies and tasks
// without an environment of their own are run with the service's.
func (d *doctor) servicePath(ctx context.Context) {
	path := d.manager.path(ctx)
	if path == "" {
		return
	}
	var missing []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && !onPath(dir, path) {
			missing = append(missing, dir)
		}
	}
	if len(missing) == 0 {
		d.ok("path", "the service finds what your shell finds")
		return
	}
	d.note("path", "`systemctl --user import-environment PATH` for now, a file in ~/.config/environment.d/ for good",
		"the service's PATH lacks %s; tasks of an editor and of `sidetask run` have their own", strings.Join(missing, ", "))
}
