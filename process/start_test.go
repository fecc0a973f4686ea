package process

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sidetask/registry"
)

// TestRefused pins T189 and T192: what can be known beforehand is an error that
// says what is wrong and what to do, and no task.
func TestRefused(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	touch(t, dir, "file")
	zero, minus := int64(0), int64(-5)
	for _, c := range []struct {
		name   string
		change func(*Spec)
		want   string
	}{
		{"blank", func(s *Spec) { s.Command = " \n\t" }, "invalid command: expected a non-empty string"},
		{"NUL", func(s *Spec) { s.Command = "echo a\x00b" }, "invalid command: it holds a NUL byte"},
		{"too long", func(s *Spec) { s.Command = strings.Repeat("x", 128<<10) }, "at most 131071 are possible; write it to a file"},
		{"no time", func(s *Spec) { s.TimeoutMs = &zero }, "invalid timeoutMs: expected a positive number, got 0"},
		{"negative time", func(s *Spec) { s.TimeoutMs = &minus }, "invalid timeoutMs: expected a positive number, got -5"},
		{"missing directory", func(s *Spec) { s.Cwd = filepath.Join(dir, "none") }, "working directory " + filepath.Join(dir, "none") + " does not exist"},
		{"a file as directory", func(s *Spec) { s.Cwd = file }, "working directory " + file + " is not a directory"},
		{"below a file", func(s *Spec) { s.Cwd = file + "/x" }, "working directory " + file + "/x cannot be used: not a directory"},
		{"NUL in directory", func(s *Spec) { s.Cwd = "/\x00" }, "invalid cwd"},
		{"terminal size", func(s *Spec) { s.PTYCols, s.PTYRows = 80, 0 }, "invalid pty"},
		{"large terminal", func(s *Spec) { s.PTYCols, s.PTYRows = 80, 10_001 }, "invalid pty: expected 1 to 10000 columns and rows, got 80 and 10001"},
		{"terminal and separate", func(s *Spec) { s.PTYCols, s.PTYRows, s.Separate = 80, 24, true }, "invalid stderr"},
		{"name of a variable", func(s *Spec) { s.Env["A=B"] = "" }, `invalid env: "A=B"`},
		{"NUL in a variable", func(s *Spec) { s.Env["A"] = "\x00" }, "invalid env: the value of A holds a NUL byte"},
		{"large variable", func(s *Spec) { s.Env["A"] = strings.Repeat("x", 128<<10) }, "invalid env: A has"},
		{"large environment", func(s *Spec) {
			for i := range 40 {
				s.Env["V"+name(registry.Row(i))] = strings.Repeat("x", 60<<10)
			}
		}, "invalid env: command and variables have"},
		{"no shell", func(s *Spec) { s.Env["PATH"] = dir }, "shell bash is not in PATH (" + dir + ")"},
		{"output limit", func(s *Spec) { s.OutputLimit = 1.5 }, "invalid outputLimitBytes"},
	} {
		s := Spec{Command: "echo x", Cwd: dir, Env: map[string]string{"PATH": os.Getenv("PATH")}}
		c.change(&s)
		_, err := w.p.Start(w.context(), registry.AsOperator(), s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		var e *registry.Error
		if !errors.As(err, &e) || e.Kind != registry.KindInvalid {
			t.Errorf("%s: no invalid parameter but %#v", c.name, err)
		}
	}
	w.nothingLeft()
}

// nothingLeft checks that refused starts left neither tasks nor files.
func (w *world) nothingLeft() {
	w.Helper()
	if tasks := w.registry.List(registry.AsOperator(), true); len(tasks) > 0 {
		w.Errorf("%d tasks are there, want none", len(tasks))
	}
	for _, dir := range []string{w.paths.Tasks(), w.paths.Exits(), w.paths.Control()} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			w.Errorf("%s has %v, %v; want nothing", dir, entries, err)
		}
	}
}

// TestNoKeeper: a keeper that cannot be started is an error of the call.
func TestNoKeeper(t *testing.T) {
	w := newWorld(t)
	w.end()
	w.keeper = filepath.Join(t.TempDir(), "sidetask-keeper")
	w.begin()
	_, err := w.p.Start(w.context(), registry.AsOperator(), Spec{Command: "true", Cwd: "/", Env: map[string]string{"PATH": os.Getenv("PATH")}})
	if err == nil || !strings.Contains(err.Error(), w.keeper) {
		t.Errorf("start = %v, want an error that names the keeper", err)
	}
	w.nothingLeft()
}

// TestAborted pins T188: a call that is aborted before the start starts nothing.
func TestAborted(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.p.Start(ctx, registry.AsOperator(), Spec{Command: "true", Cwd: "/", Env: map[string]string{"PATH": os.Getenv("PATH")}}); err == nil {
		t.Error("an aborted start succeeded")
	}
	w.nothingLeft()
}

// TestSpawnFails pins T192: what fails in the keeper is a task that ends `failed`
// with the reason.
func TestSpawnFails(t *testing.T) {
	shell := filepath.Join(t.TempDir(), "shell")
	// Written before there is anything to fork: a child that had it open for writing
	// would make it "text file busy".
	if err := os.WriteFile(shell, []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.settings.Shell = shell
	task := w.wait(w.start("echo x"))
	w.is(task, registry.Failed, "spawn failed: "+shell+": exec format error")
	if text := w.read(task); text != "" {
		t.Errorf("read %q", text)
	}
	w.gone(task)
	if entries, _ := os.ReadDir(w.paths.Control()); len(entries) > 0 {
		t.Errorf("left %v", entries)
	}
}

// TestEnvironment pins T190: the owner's and the start's variables, never the
// daemon's; what is taken out and what is added.
func TestEnvironment(t *testing.T) {
	t.Setenv("OF_THE_DAEMON", "secret")
	w := newWorld(t)
	task := w.wait(w.start("/usr/bin/env", func(s *Spec) {
		for _, v := range []string{
			"MINE=yes", "API_TOKEN=stays", "SIDETASK_TOKEN=x", "SIDETASK_SOCKET=y", "SIDETASK_TASK=z", "NOTIFY_SOCKET=x", "LISTEN_FDS=3", "LISTEN_PID=1",
			"WATCHDOG_USEC=1", "INVOCATION_ID=x", "JOURNAL_STREAM=x", "FORCE_COLOR=1", "CLICOLOR_FORCE=1", "TERM=xterm", "PAGER=less", "GIT_PAGER=less", "PWD=/elsewhere",
		} {
			n, value, _ := strings.Cut(v, "=")
			s.Env[n] = value
		}
	}))
	got := strings.Fields(w.read(task))
	slices.Sort(got)
	want := []string{
		"GIT_PAGER=cat", "HOME=/", "LANG=C.UTF-8", "MINE=yes", "API_TOKEN=stays", "NO_COLOR=1", "PAGER=cat", "PATH=" + os.Getenv("PATH"), "PWD=/",
		"SHLVL=0", "SIDETASK_SOCKET=" + w.socket(), "SIDETASK_TASK=" + name(task.Row), "TERM=dumb", "_=/usr/bin/env",
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the command has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestLocaleStays: a locale of the caller's is the command's, whichever variable
// says it.
func TestLocaleStays(t *testing.T) {
	for _, variable := range []string{"LANG", "LC_ALL", "LC_CTYPE"} {
		env := environment(map[string]string{variable: "de_DE.UTF-8"}, nil, false)
		if env[variable] != "de_DE.UTF-8" || variable != "LANG" && env["LANG"] != "" {
			t.Errorf("%s: %v", variable, env)
		}
	}
	env := environment(map[string]string{"TERM": "dumb"}, map[string]string{"TERM": "xterm-kitty"}, true)
	if env["TERM"] != "xterm-kitty" || env["NO_COLOR"] != "" || env["PAGER"] != "" {
		t.Errorf("with a terminal: %v", env)
	}
}

// TestOwner: an owner's commands have its variables and run in its directory,
// relative ones below it.
func TestOwner(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := w.registry.Register(registry.Registration{
		Token: strings.Repeat("ab", 16), Agent: "agent", Session: "s", Scope: "/", Cwd: dir,
		Env: map[string]string{"PATH": os.Getenv("PATH"), "WHOSE": "owner", "WHAT": "owner"},
	}, host{})
	if err != nil {
		t.Fatal(err)
	}
	task, err := w.p.Start(w.context(), registry.AsOwner(h), Spec{Command: "echo $WHOSE $WHAT; pwd", Cwd: "sub", Env: map[string]string{"WHAT": "start"}})
	if err != nil {
		t.Fatal(err)
	}
	if task.ID != "bash-1" || task.Label != "echo $WHOSE $WHAT; pwd" || task.Kind != "bash" {
		t.Errorf("task %+v, T186 wants kind bash and the command as label", task)
	}
	w.wait(task)
	if text, want := w.read(task), "owner start\n"+filepath.Join(dir, "sub")+"\n"; text != want {
		t.Errorf("printed %q, want %q", text, want)
	}
}

type host struct{}

func (host) Pending(registry.Handle, int, string) {}

func (host) Lost(registry.Handle) {}

// TestBare: a caller that gives nothing (a line through socat) gets what a login
// has, and its home.
func TestBare(t *testing.T) {
	t.Setenv("OF_THE_DAEMON", "secret")
	w := newWorld(t)
	task, err := w.p.Start(w.context(), registry.AsOperator(), Spec{Command: "echo ${OF_THE_DAEMON-none} $HOME; pwd"})
	if err != nil {
		t.Fatal(err)
	}
	w.wait(task)
	home := bare()["HOME"]
	if text, want := w.read(task), "none "+home+"\n"+home+"\n"; text != want {
		t.Errorf("printed %q, want %q", text, want)
	}
}

// TestDescriptorsAndSignals: a command has descriptors 0, 1 and 2, nothing of
// the daemon's or the keeper's; no signal is ignored or blocked, whatever the
// daemon's starter ignored; it leads a session and group of its own; stdin ends at
// once.
func TestDescriptorsAndSignals(t *testing.T) {
	// A descriptor that whoever started the daemon forgot, and a signal that it
	// ignores (nohup).
	leak, err := syscall.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTTOU, syscall.SIGUSR1)
	defer signal.Reset(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTTOU, syscall.SIGUSR1)
	w := newWorld(t)

	task := w.wait(w.start("exec ls /proc/self/fd"))
	if text := w.read(task); text != "0\n1\n2\n3\n" { // 3 is the folder that ls reads
		t.Errorf("the command has descriptors %q", text)
	}
	task = w.wait(w.start(`grep -hE 'SigIgn|SigBlk' /proc/self/status; cat; read -r p c s pp g sid rest < /proc/$$/stat; [ $g = $$ ] && [ $sid = $$ ] && echo own; readlink /proc/$PPID/exe`))
	want := "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nown\n" + keeperBinary + "\n"
	if text := w.read(task); text != want {
		t.Errorf("printed %q, want %q", text, want)
	}
}
