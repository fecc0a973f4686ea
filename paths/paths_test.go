package paths_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"sidetask/paths"
)

// world sets the variables that matter, and no others.
func world(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "SIDETASK_CONFIG", "SIDETASK_SOCKET"} {
		t.Setenv(name, vars[name])
	}
}

// API.md (Socket), CONFIG.md: which variable decides what.
func TestFind(t *testing.T) {
	run := t.TempDir()
	home := "/home/someone"
	for _, test := range []struct {
		name                   string
		vars                   map[string]string
		config, state, runtime string
		socket                 string
	}{
		{
			"defaults",
			map[string]string{"HOME": home, "XDG_RUNTIME_DIR": run},
			home + "/.config/sidetask/config.toml", home + "/.local/state/sidetask", run + "/sidetask", run + "/sidetask/sidetask.sock",
		},
		{
			"XDG",
			map[string]string{"HOME": home, "XDG_RUNTIME_DIR": run, "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"},
			"/c/sidetask/config.toml", "/s/sidetask", run + "/sidetask", run + "/sidetask/sidetask.sock",
		},
		{
			"a relative XDG folder is none (XDG specification)",
			map[string]string{"HOME": home, "XDG_RUNTIME_DIR": run, "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"},
			home + "/.config/sidetask/config.toml", home + "/.local/state/sidetask", run + "/sidetask", run + "/sidetask/sidetask.sock",
		},
		{
			"our own",
			map[string]string{"HOME": home, "XDG_RUNTIME_DIR": run, "SIDETASK_CONFIG": "/x.toml", "SIDETASK_SOCKET": "/x.sock"},
			"/x.toml", home + "/.local/state/sidetask", run + "/sidetask", "/x.sock",
		},
		{
			"no home, but all that is needed",
			map[string]string{"XDG_RUNTIME_DIR": run, "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"},
			"/c/sidetask/config.toml", "/s/sidetask", run + "/sidetask", run + "/sidetask/sidetask.sock",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			world(t, test.vars)
			got, err := paths.Find()
			if err != nil {
				t.Fatal(err)
			}
			want := paths.Paths{Config: test.config, State: test.state, Runtime: test.runtime, Socket: test.socket}
			if got != want {
				t.Errorf("Find() = %+v, want %+v", got, want)
			}
		})
	}
}

// A relative file of ours is one of where the person is.
func TestFindRelative(t *testing.T) {
	world(t, map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": t.TempDir(), "SIDETASK_CONFIG": "a.toml", "SIDETASK_SOCKET": "a.sock"})
	dir := t.TempDir()
	t.Chdir(dir)
	got, err := paths.Find()
	if err != nil || got.Config != filepath.Join(dir, "a.toml") || got.Socket != filepath.Join(dir, "a.sock") {
		t.Errorf("Find() = %+v, %v", got, err)
	}
}

func TestFindErrors(t *testing.T) {
	world(t, nil)
	if _, err := paths.Find(); err == nil || !strings.Contains(err.Error(), "neither $XDG_CONFIG_HOME nor $HOME is set: set one of them") {
		t.Errorf("Find() without a home: %v", err)
	}
	long := "/" + strings.Repeat("x", 107)
	world(t, map[string]string{"HOME": "/h", "SIDETASK_SOCKET": long})
	want := "socket path " + long + " has 108 bytes, at most 107 are possible: set SIDETASK_SOCKET or XDG_RUNTIME_DIR to a shorter one"
	if got, err := paths.Find(); err == nil || err.Error() != want || got.Config == "" {
		t.Errorf("Find() = %+v, %v; want %s and the other paths", got, err, want)
	}
	if err := paths.CheckSocket(long[:107]); err != nil {
		t.Errorf("107 bytes: %v", err)
	}
}

// FIELD: XDG_RUNTIME_DIR unset, missing, or root's (su): another folder, and a word about it.
func TestRuntimeFallback(t *testing.T) {
	uid := strconv.Itoa(os.Getuid())
	fallback := "/tmp/sidetask-" + uid
	if info, err := os.Stat("/run/user/" + uid); err == nil && info.IsDir() {
		fallback = "/run/user/" + uid + "/sidetask"
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"unset": "", "relative": "run", "missing": "/no/such/folder", "a file": file, "somebody else's": foreign(t)} {
		t.Run(name, func(t *testing.T) {
			world(t, map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": dir})
			got, err := paths.Find()
			if err != nil || got.Runtime != fallback || got.Socket != fallback+"/sidetask.sock" {
				t.Errorf("Find() = %+v, %v; want the socket in %s", got, err, fallback)
			}
			if filepath.IsAbs(dir) && !strings.Contains(got.Warning, dir) {
				t.Errorf("warning %q does not name %s", got.Warning, dir)
			}
			if (dir != "" || strings.HasPrefix(fallback, "/tmp")) && (!strings.Contains(got.Warning, fallback) || got.Advice == "") {
				t.Errorf("warning %q, advice %q do not say where the socket is and what to do", got.Warning, got.Advice)
			}
			if got.Ignored != (dir != "") {
				t.Errorf("ignored: %v", got.Ignored)
			}
		})
	}
}

// foreign is a folder that belongs to another user.
func foreign(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		return "/" // root's
	}
	dir := filepath.Join(t.TempDir(), "foreign")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 12345, -1); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestPrivate(t *testing.T) {
	base := t.TempDir()
	mode := func(dir string) os.FileMode {
		t.Helper()
		info, err := os.Lstat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}

	deep := filepath.Join(base, "a/b/c")
	for range 2 { // made, and there already
		if err := paths.Private(deep); err != nil || mode(deep) != os.ModeDir|0o700 {
			t.Errorf("Private = %v, mode %v", err, mode(deep))
		}
	}
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := paths.Private(open); err != nil || mode(open) != os.ModeDir|0o700 {
		t.Errorf("Private of an open folder = %v, mode %v", err, mode(open))
	}
}

// A folder that the person named is used as it is, however open, or refused.
func TestSocketFolder(t *testing.T) {
	base := t.TempDir()
	folder := func(name string, mode os.FileMode) string {
		t.Helper()
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	own := folder("own", 0o755)
	for _, test := range []struct {
		dir  string
		want os.FileMode // afterwards
		err  string
	}{
		{own, os.ModeDir | 0o700, ""}, // sidetask's own is closed
		{filepath.Join(base, "a/new"), os.ModeDir | 0o700, ""},
		{folder("home", 0o755), os.ModeDir | 0o755, ""},
		{folder("tmp", os.ModeSticky|0o777), os.ModeDir | os.ModeSticky | 0o777, ""},
		{folder("open", 0o777), os.ModeDir | 0o777, "others may write to " + base + "/open (mode 0777) and could take the socket's place: set SIDETASK_SOCKET to a path in a folder of your own"},
		{folder("group", 0o770), os.ModeDir | 0o770, "others may write to " + base + "/group (mode 0770)"},
		{foreign(t), 0, "not to you"},
		{link, 0, "is in the way (it is a symbolic link, not a folder): move it away"},
	} {
		err := paths.Paths{Runtime: own, Socket: filepath.Join(test.dir, "s")}.SocketFolder()
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", test.dir, err, test.err)
		}
		if info, err := os.Lstat(test.dir); test.want != 0 && (err != nil || info.Mode() != test.want) {
			t.Errorf("%s has mode %v, want %v", test.dir, info.Mode(), test.want)
		}
	}
}

func TestPrivateRefuses(t *testing.T) {
	base := t.TempDir()
	target := filepath.Join(base, "target")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	link, file := filepath.Join(base, "link"), filepath.Join(base, "file")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		link:                  link + " is in the way (it is a symbolic link, not a folder): move it away",
		file:                  file + " is in the way (it is a file, not a folder): move it away",
		foreign(t):            "not to you",
		file + "/below":       "make folder for sidetask: ",
		"/proc/no/such/there": "make folder for sidetask: ",
	} {
		if err := paths.Private(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Private(%s) = %v, want %q", dir, err, want)
		}
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("what the link points to was changed: %v, %v", info.Mode(), err)
	}
}

// A folder that cannot be made says how to have it elsewhere.
func TestPrivateSaysWhereElse(t *testing.T) {
	world(t, map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/proc/xx", "XDG_RUNTIME_DIR": "/proc/self", "SIDETASK_SOCKET": "/proc/yy/s"})
	p, err := paths.Find()
	if err != nil {
		t.Fatal(err)
	}
	for dir, variable := range map[string]string{p.State: "XDG_STATE_HOME", p.Tasks(): "XDG_STATE_HOME", filepath.Dir(p.Socket): "SIDETASK_SOCKET"} {
		if err := paths.Private(dir); err == nil || !strings.Contains(err.Error(), ": see to it that you may write there, or set "+variable+" to a") {
			t.Errorf("Private(%s) = %v, want the advice to set %s", dir, err, variable)
		}
	}
}

// All that lies below the folders has a place of its own.
func TestNames(t *testing.T) {
	p := paths.Paths{State: "/s", Runtime: "/r"}
	names := []string{p.Database(), p.Tasks(), p.Exits(), p.Lock(), p.Control()}
	seen := map[string]bool{}
	for _, name := range names {
		if !filepath.IsAbs(name) || seen[name] {
			t.Errorf("%q in %v", name, names)
		}
		seen[name] = true
	}
}
