package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// MaxSocketBytes is the longest socket path that the kernel takes (unix(7):
// sun_path has 108 bytes with the final NUL).
const MaxSocketBytes = 107

// Paths says where everything lies. All are absolute.
type Paths struct {
	Config  string // the TOML file, $SIDETASK_CONFIG, else $XDG_CONFIG_HOME/sidetask/config.toml
	State   string // database, spools, exit records, single-instance lock
	Runtime string // keepers' control sockets; the folder of the default socket
	Socket  string // $SIDETASK_SOCKET, else Runtime/sidetask.sock

	// What the person should know where the runtime folder is not the one of the
	// session; all are empty or false else.
	Warning string
	Advice  string // what to do about it
	Ignored bool   // the socket is not where XDG_RUNTIME_DIR, which is set, says
}

// Database is the SQLite file.
func (p Paths) Database() string { return filepath.Join(p.State, "sidetask.db") }

// Tasks is the folder that has one folder a task, named by row number.
func (p Paths) Tasks() string { return filepath.Join(p.State, "tasks") }

// Outside is the same for the tasks of outside producers.
func (p Paths) Outside() string { return filepath.Join(p.State, "outside") }

// Exits is the folder into which keepers rename their exit records.
func (p Paths) Exits() string { return filepath.Join(p.State, "exits") }

// Lock is the single-instance lock; the running daemon writes its socket into it.
func (p Paths) Lock() string { return filepath.Join(p.State, "daemon.lock") }

// Control is the folder of the keepers' control sockets.
func (p Paths) Control() string { return filepath.Join(p.Runtime, "k") }

// Find resolves the paths from the environment (API.md, Socket). It makes
// nothing; see [Private] and [Paths.SocketFolder] for making a folder safely.
func Find() (Paths, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	base := func(variable, below string) (string, error) {
		// The XDG base directory specification: a relative path is invalid and is ignored.
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return dir, nil
		}
		if home == "" {
			return "", fmt.Errorf("neither $%s nor $HOME is set: set one of them", variable)
		}
		return filepath.Join(home, below), nil
	}
	var p Paths
	if p.Config = os.Getenv("SIDETASK_CONFIG"); p.Config == "" {
		dir, err := base("XDG_CONFIG_HOME", ".config")
		if err != nil {
			return p, err
		}
		p.Config = filepath.Join(dir, "sidetask", "config.toml")
	}
	if p.Config, err = filepath.Abs(p.Config); err != nil {
		return p, err
	}
	state, err := base("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return p, err
	}
	p.State = filepath.Join(state, "sidetask")
	p.findRuntime(os.Getuid())
	if p.Socket = os.Getenv("SIDETASK_SOCKET"); p.Socket == "" {
		p.Socket = filepath.Join(p.Runtime, "sidetask.sock")
	}
	if p.Socket, err = filepath.Abs(p.Socket); err != nil {
		return p, err
	}
	return p, CheckSocket(p.Socket)
}

// CheckSocket refuses a socket path that the kernel cannot take.
func CheckSocket(path string) error {
	if len(path) > MaxSocketBytes {
		return fmt.Errorf("socket path %s has %d bytes, at most %d are possible: set SIDETASK_SOCKET or XDG_RUNTIME_DIR to a shorter one", path, len(path), MaxSocketBytes)
	}
	return nil
}

// findRuntime takes $XDG_RUNTIME_DIR/sidetask if that folder is ours, else the
// same below /run/user/<uid>, else /tmp/sidetask-<uid>.
func (p *Paths) findRuntime(uid int) {
	xdg, run := os.Getenv("XDG_RUNTIME_DIR"), "/run/user/"+strconv.Itoa(uid)
	if filepath.IsAbs(xdg) && owned(xdg, uid) {
		p.Runtime = filepath.Join(xdg, "sidetask")
		return
	}
	p.Runtime = "/tmp/sidetask-" + strconv.Itoa(uid)
	session := owned(run, uid)
	if session {
		p.Runtime = filepath.Join(run, "sidetask")
	}
	switch {
	case xdg != "":
		p.Ignored = os.Getenv("SIDETASK_SOCKET") == ""
		p.Warning, p.Advice = unusable(xdg)
	case session:
		return // as good as the variable
	default:
		p.Warning = "neither XDG_RUNTIME_DIR nor " + run + " is there"
		p.Advice = "log in as this user: su and sudo make no session of its own"
	}
	what := "the socket is"
	if os.Getenv("SIDETASK_SOCKET") != "" {
		what = "the sockets of running commands are"
	}
	p.Warning += ": " + what + " in " + p.Runtime
}

// unusable says why XDG_RUNTIME_DIR is not used, and what to do.
func unusable(xdg string) (warning, advice string) {
	if !filepath.IsAbs(xdg) {
		return fmt.Sprintf("XDG_RUNTIME_DIR names %q, which is no absolute path", xdg), "give it one, or unset it"
	}
	if _, err := os.Stat(xdg); errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("XDG_RUNTIME_DIR names %s, which does not exist", xdg), fmt.Sprintf("make that folder (mkdir -m 700 '%s'), or unset XDG_RUNTIME_DIR", xdg)
	}
	return fmt.Sprintf("XDG_RUNTIME_DIR names %s, which is not a folder of yours", xdg), "let it name a folder of yours, or unset it"
}

func owned(dir string, uid int) bool {
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == uid
}

// Private makes a folder of mode 0700 (and its parents) or checks that the one
// that stands there is a real folder, ours, and closed to others. A folder of
// ours that others may enter is closed. It is for sidetask's own folders only.
func Private(dir string) error {
	info, err := ours(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return err
}

// SocketFolder makes or checks the folder of the socket (API.md, Socket): one of
// sidetask's own as [Private] does. One that the person named in SIDETASK_SOCKET
// has other things in it and is never changed; it is refused where others could
// put a socket of theirs in the place of ours.
func (p Paths) SocketFolder() error {
	dir := filepath.Dir(p.Socket)
	if dir == p.Runtime {
		return Private(dir)
	}
	info, err := ours(dir)
	if err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("others may write to %s (mode %04o) and could take the socket's place: set SIDETASK_SOCKET to a path in a folder of your own, or chmod go-w that one", dir, info.Mode().Perm())
	}
	return err
}

// ours makes a folder of mode 0700 (and its parents) or checks that what stands
// there is a real folder, and ours.
func ours(dir string) (fs.FileInfo, error) {
	err := os.MkdirAll(filepath.Dir(dir), 0o700)
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make folder for sidetask: %w: see to it that you may write there, or %s", err, elsewhere(dir))
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is in the way (it is a %s, not a folder): move it away", dir, kindOf(info.Mode()))
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) != os.Getuid() {
		return nil, fmt.Errorf("%s belongs to uid %d, not to you (%d): sidetask does not use it", dir, stat.Uid, os.Getuid())
	}
	return info, nil
}

// elsewhere says how to have a folder of ours in another place.
func elsewhere(dir string) string {
	p, _ := Find() // what it found is all that is asked for
	switch {
	case p.State != "" && within(dir, p.State):
		return "set XDG_STATE_HOME to a folder where you may"
	case p.Runtime != "" && within(dir, p.Runtime):
		return "set XDG_RUNTIME_DIR to a folder of yours"
	}
	return "set SIDETASK_SOCKET to a path where you may"
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symbolic link"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode.IsRegular():
		return "file"
	}
	return "special file"
}
