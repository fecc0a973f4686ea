package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"sidetask/config"
	"sidetask/paths"
	"sidetask/rpc"
	"sidetask/rpc/client"
)

// program checks the files of the program itself.
func (d *doctor) program() {
	self, err := os.Executable()
	if err != nil {
		d.wrong("program", "", "its own file is not to be found: %v", err)
		return
	}
	d.ok("program", "%s, version %s", self, version())
	real, err := filepath.EvalSymlinks(self)
	if err != nil {
		real = self
	}
	keeper := filepath.Join(filepath.Dir(real), "sidetask-keeper")
	if info, err := os.Stat(keeper); err != nil || info.Mode().Perm()&0o111 == 0 {
		d.wrong("program", "install both: `scripts/install`, or `go install ./cmd/...`", "no sidetask-keeper beside it (%s): no command can be started", keeper)
	}
	found, err := exec.LookPath("sidetask")
	switch {
	case err != nil:
		d.warn("program", "add "+tilde(filepath.Dir(self))+" to your PATH in your shell's profile", "sidetask is not in your PATH")
	case !sameFile(found, self):
		d.warn("program", "remove one, or change the order of your PATH", "`sidetask` in your PATH is another one: %s", found)
	}
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// config checks the file; the defaults stand in for one that is refused.
func (d *doctor) config() *config.Settings {
	where, err := paths.Find()
	path := where.Config
	if path == "" {
		d.wrong("config", "", "%v", err)
		return nil
	}
	settings, _, err := config.Load(path)
	var several config.Errors
	switch {
	case errors.As(err, &several):
		for _, one := range several {
			d.wrong("config", mendFile, "%v", one)
		}
		return nil
	case err != nil:
		d.wrong("config", "", "%v", err)
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		d.ok("config", "%s does not exist: the defaults are in force", path)
	} else {
		d.ok("config", "%s", path)
	}
	return settings
}

// folders checks where socket and state go, and who else may reach them.
func (d *doctor) folders() (paths.Paths, bool) {
	where, err := paths.Find()
	if err != nil {
		d.wrong("socket", "", "%v", err)
		return where, false
	}
	if where.Warning != "" {
		d.warn("socket", where.Advice, "%s", where.Warning)
		d.p.astray.Do(func() {}) // so it is told
	}
	for _, dir := range []string{where.Runtime, where.State} {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // made when it is needed
		case err != nil:
			d.wrong("folders", "", "%v", err)
		case !info.IsDir():
			d.wrong("folders", "move it away", "%s is in the way: it is no folder", dir)
		case info.Mode().Perm()&0o077 != 0:
			d.warn("folders", "chmod 700 "+quote(dir), "others may look into %s", dir)
		}
	}
	d.ok("socket", "%s", where.Socket)
	d.usable("socket", "XDG_RUNTIME_DIR", where.Runtime)
	if d.usable("state", "XDG_STATE_HOME", where.State) {
		d.ok("state", "%s", where.State)
	}
	return where, true
}

// usable tries out whether a folder of ours can be made, or be written to, and
// leaves nothing behind: what a disk that is full or read-only, or a folder of the
// kernel's, will say to that is not to be read off its mode.
func (d *doctor) usable(about, variable, dir string) bool {
	there := existing(dir)
	trial, err := os.MkdirTemp(there, ".sidetask-doctor-*")
	if err == nil {
		err = os.Remove(trial)
	}
	if err == nil {
		return true
	}
	var bare *fs.PathError
	if errors.As(err, &bare) {
		err = bare.Err
	}
	d.wrong(about, "see to it that you may write there, or set "+variable+" to a folder where you may",
		"%s cannot be used: in %s no folder can be made: %v", dir, there, err)
	return false
}

// existing is dir, or the nearest folder above it that is there.
func existing(dir string) string {
	for errors.Is(statError(dir), fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// lowDisk is how much room the spool should have.
const lowDisk = 1 << 30

// disk checks the room for output.
func (d *doctor) disk(dir string, settings *config.Settings) {
	dir = existing(dir)
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		d.warn("disk", "", "the room at %s is not known: %v", dir, err)
		return
	}
	free := int64(s.Bavail) * int64(s.Bsize)
	want := int64(lowDisk)
	if settings != nil {
		want = max(want, settings.Commands.SpoolBytes)
	}
	if free < want {
		d.warn("disk", "make room, `sidetask prune`, or a smaller [retention] bytes and [commands] spoolBytes", "only %s left at %s", size(free), dir)
		return
	}
	d.ok("disk", "%s free at %s", size(free), dir)
}

func statError(path string) error {
	_, err := os.Stat(path)
	return err
}

// refusal says what the daemon refuses of its configuration, but for what the look
// at the file has found already.
func (d *doctor) refusal(c rpc.ConfigState) {
	if len(c.Errors) == 0 {
		return
	}
	d.warn("daemon", mendFile, "it refuses %s: the settings of before stay in force until then", c.Path)
	for _, text := range c.Errors {
		if !slices.ContainsFunc(d.findings, func(f finding) bool { return f.About == "config" && f.Text == text }) {
			d.wrong("daemon", mendFile, "%s", text)
		}
	}
}

// daemon asks the one that runs.
func (d *doctor) daemon(ctx context.Context, where paths.Paths, settings *config.Settings) {
	status, err := d.p.look(ctx)
	var answer *rpc.Error
	if settings == nil && errors.As(err, &answer) && answer.Code == rpc.CodeConfiguration {
		status, err = nil, nil // the service that was started for our sake says what we know
	}
	if err != nil {
		d.wrong("daemon", hint(err), "%v", err)
		return
	}
	if status == nil {
		if holder, held := client.FindHolder(where.Lock()); held {
			d.wrong("daemon", holder.Advice(where.Socket), "another daemon (pid %d) has the state folder; nobody answers on %s", holder.PID, where.Socket)
			return
		}
		if settings == nil {
			d.wrong("daemon", mendFile, "none runs, and none can start until the configuration is mended")
			return
		}
		d.ok("daemon", "none runs; the next command starts it")
		return
	}
	d.status = status
	d.ok("daemon", "pid %d, version %s, %s", status.PID, status.Version, status.Supervisor)
	switch {
	case client.Newer(version(), status.Version):
		d.warn("daemon", "`sidetask daemon restart`; tasks go on", "it is older (%s) than this program (%s)", status.Version, version())
	case client.Newer(status.Version, version()):
		d.warn("daemon", "use "+status.Executable, "it is newer (%s) than this program (%s)", status.Version, version())
	}
	d.refusal(status.Config)
	for _, text := range status.Warnings {
		d.warn("daemon", "", "%s", text)
	}
	for _, c := range status.Clients {
		if c.Notes != "" {
			d.note("client", "", "%s", clientText(c))
		}
	}
}
