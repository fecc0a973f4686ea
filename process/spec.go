package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sidetask/process/wire"
	"sidetask/registry"
)

// Settings are the table [commands] of the configuration, asked for at each use.
type Settings struct {
	Shell         string // a name to be found in the command's PATH, or a path
	SpoolBytes    int64
	KeepHeadBytes int64
	StopGraceMs   int64
	CleanOutput   bool
	TimeoutMs     int64 // 0 = none
}

// Spec is a command to be started.
type Spec struct {
	Command     string            // run as: shell -c Command
	Label       string            // the command, where empty (T186)
	Cwd         string            // relative to the owner's; the owner's, where empty
	Env         map[string]string // laid over the owner's
	OutputLimit any               // see [registry.Spec]
	TimeoutMs   *int64            // nil: that of the settings
	PTYCols     int               // a terminal of this size, where both are positive
	PTYRows     int
	Stdin       bool // takes input; else stdin is /dev/null
	Separate    bool // stderr is kept apart from stdout
	Shared      bool
	Key         string
}

const (
	// maxArg is the longest single argument or variable that the kernel takes
	// (MAX_ARG_STRLEN, with its final NUL).
	maxArg = 128<<10 - 1
	// maxArgs is what all of them may have together with an ordinary stack limit.
	maxArgs = 2<<20 - 4096
	// maxTimeoutMs keeps a time limit far from what a duration can hold.
	maxTimeoutMs = int64(1) << 40
)

func invalid(format string, args ...any) error {
	return registry.Errorf(registry.KindInvalid, format, args...)
}

// check refuses what can be known to be wrong before anything is started (T189,
// T192): an error, and no task.
func (s *Spec) check() error {
	switch {
	case strings.TrimSpace(s.Command) == "":
		return invalid("invalid command: expected a non-empty string")
	case strings.ContainsRune(s.Command, 0):
		return invalid("invalid command: it holds a NUL byte, which no program can be given; write it as an escape (\\0) in the command")
	case len(s.Command) > maxArg:
		return invalid("invalid command: %d bytes, at most %d are possible; write it to a file and run that", len(s.Command), maxArg)
	case strings.ContainsRune(s.Cwd, 0):
		return invalid("invalid cwd: it holds a NUL byte")
	case s.TimeoutMs != nil && *s.TimeoutMs <= 0:
		return invalid("invalid timeoutMs: expected a positive number, got %d", *s.TimeoutMs)
	case s.TimeoutMs != nil && *s.TimeoutMs > maxTimeoutMs:
		return invalid("invalid timeoutMs: expected at most %d, got %d", maxTimeoutMs, *s.TimeoutMs)
	}
	if s.terminal() {
		if err := wire.CheckSize(s.PTYCols, s.PTYRows); err != nil {
			return invalid("invalid pty: %v", err)
		}
		if s.Separate {
			return invalid("invalid stderr: a terminal has one stream; leave out pty or stderr")
		}
	}
	return registry.CheckEnv(s.Env)
}

func (s *Spec) terminal() bool { return s.PTYCols != 0 || s.PTYRows != 0 }

// timeout is the command's time limit; 0 = none.
func (s *Spec) timeout(settings Settings) int64 {
	if s.TimeoutMs != nil {
		return *s.TimeoutMs
	}
	return settings.TimeoutMs
}

// grace is the time between TERM and KILL.
func (s Settings) grace() time.Duration { return time.Duration(s.StopGraceMs) * time.Millisecond }

// label is what a list shows: the command, where nothing was given.
func (s *Spec) label() string {
	if s.Label == "" {
		return s.Command
	}
	return s.Label
}

// directory finds and checks the working directory; errors name it, for the
// kernel would blame the shell.
func (s *Spec) directory(base string) (string, error) {
	dir := s.Cwd
	if dir == "" {
		dir = base
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	info, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return "", invalid("working directory %s does not exist", dir)
	case err != nil:
		return "", invalid("working directory %s cannot be used: %v; give another one", dir, cause(err))
	case !info.IsDir():
		return "", invalid("working directory %s is not a directory", dir)
	}
	if err := enterable(dir); err != nil {
		return "", invalid("working directory %s cannot be entered: %v; give another one, or the right to enter it (chmod +x)", dir, err)
	}
	return dir, nil
}

// cause is what lies below a path error: the path is in our message already.
func cause(err error) error {
	if path, ok := err.(*os.PathError); ok {
		return path.Err
	}
	return err
}

// findShell finds the shell in the command's own PATH.
func findShell(shell, path string) (string, error) {
	if strings.Contains(shell, "/") {
		if !filepath.IsAbs(shell) {
			return "", invalid("shell %s is neither a name nor an absolute path: set commands.shell", shell)
		}
		if err := runnable(shell); err != nil {
			return "", invalid("shell %s cannot be run: %v; set commands.shell", shell, err)
		}
		return shell, nil
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, shell)
		if filepath.IsAbs(dir) && runnable(file) == nil {
			return file, nil
		}
	}
	return "", invalid("shell %s is not in PATH (%s): install it, or set commands.shell", shell, path)
}

func runnable(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return cause(err)
	case info.IsDir():
		return fmt.Errorf("it is a directory")
	}
	return enterable(file) // the same right: x
}
