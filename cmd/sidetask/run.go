package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sidetask/rpc"
)

// runFlags are the flags of `sidetask run`.
type runFlags struct {
	follow, wait       bool
	label, dir, shell  string
	as                 rpc.As
	shared, pty, stdin bool
	raw                bool
	asJSON             bool
	timeout            span
}

func (p *program) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -- CMD ARGS... | -c 'SHELL TEXT'",
		Short: "Start a task and print its id",
		Long: `Start a command as a background task, with this shell's environment and
working directory, and print its id. The task is your own: agents do not see
it, unless --session or --shared says so, or this is itself run by an agent's
task; then it belongs to that agent. Your own tasks have no limit; an agent's,
and those of everybody together, have limits.maxConcurrentTasksPerOwner.

With -f the output is made fit to be read, unless you ask for --raw:
` + cleaning + `

If -f is interrupted, or its reader goes away, the task goes on.`,
		Example: `  sidetask run -- go test ./...
  sidetask run -f -- make
  id=$(sidetask run -c 'make && ./deploy')`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, pair := range [][]string{{"follow", "wait"}, {"follow", "json"}, {"session", "shared"}, {"pty", "stdin"}} {
				if err := exclude(cmd, pair...); err != nil {
					return err
				}
			}
			if err := agentAlone(f.as); err != nil {
				return err
			}
			if f.raw && !f.follow {
				return misuse("for example: sidetask run -f --raw -- make", "--raw is about the output that -f follows")
			}
			return p.run(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows CMD is CMD's
	flags.BoolVarP(&f.follow, "follow", "f", false, "follow the output, and exit as the command does")
	flags.BoolVar(&f.raw, "raw", false, "with -f: the bytes as they were written")
	flags.BoolVar(&f.wait, "wait", false, "wait for the end, and exit as the command does")
	flags.StringVarP(&f.label, "label", "l", "", "what lists show; else the command")
	flags.StringVarP(&f.dir, "dir", "C", "", "working directory; else this one")
	flags.StringVarP(&f.shell, "command", "c", "", "a text for the shell instead of CMD ARGS")
	p.sessionFlags(cmd, &f.as, "start it for the agent with this session")
	flags.BoolVar(&f.shared, "shared", false, "start it for everybody: every agent may see and stop it")
	flags.BoolVar(&f.pty, "pty", false, "give it a terminal (see: sidetask attach)")
	flags.BoolVar(&f.stdin, "stdin", false, "let it have input (see: sidetask write); with -f, this command's")
	flags.Var(&f.timeout, "timeout", "stop it after this time")
	flags.BoolVar(&f.asJSON, "json", false, "print the task as JSON instead of its id")
	return cmd
}

// run starts the task and stays as long as the flags say.
func (p *program) run(ctx context.Context, f runFlags, args []string) error {
	start, err := p.startOf(f, args)
	if err != nil {
		return err
	}
	l, err := p.link(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	if start.As, err = namedOwner(ctx, l.call, f.as); err != nil {
		return err
	}
	if err := p.belong(ctx, l, &start); err != nil {
		return err
	}
	var result rpc.TaskResult
	err = l.call(ctx, rpc.MethodTaskStart, start, &result)
	if errors.Is(err, rpc.ErrLimitReached) {
		// The daemon's text is the model's (API.md, Errors), which has a tool for it.
		return fail("`sidetask ls` lists them, `sidetask kill` stops one", "this owner has as many tasks as it may have at once (limits.maxConcurrentTasksPerOwner)")
	}
	if err != nil {
		return err
	}
	id := result.Task.ID
	if result.Task.Operator != nil {
		l.pid = result.Task.Operator.PID
	}
	if f.follow {
		p.say("started %s", id)
		return p.followRun(ctx, l, id, f)
	}
	if !f.wait {
		return p.printStarted(f, result.Task)
	}
	if !f.asJSON { // a script may want to know it before the end
		if err := p.printStarted(f, result.Task); err != nil {
			return err
		}
	}
	task, err := l.wait(ctx, id, time.Time{})
	if err != nil {
		return p.leave(ctx, l, err, id)
	}
	p.tellFailure(task)
	if f.asJSON {
		if err := p.printStarted(f, task); err != nil {
			return err
		}
	}
	return ended(task)
}

func (p *program) printStarted(f runFlags, t rpc.Task) error {
	if !f.asJSON {
		return p.print("%s\n", t.ID)
	}
	return p.printJSON(struct {
		Version int      `json:"version"`
		Task    taskJSON `json:"task"`
	}{jsonVersion, jsonTask(t, time.Now())})
}

// startOf makes the call's parameters of the flags.
func (p *program) startOf(f runFlags, args []string) (rpc.TaskStart, error) {
	const example = "for example: sidetask run -- make test, or: sidetask run -c 'make && make test'"
	start := rpc.TaskStart{
		Label: f.label, Stdin: f.stdin, Shared: f.shared,
		// With a key a start can be asked for again when the daemon goes away in the middle.
		Key: "run-" + rand.Text(),
	}
	switch {
	case f.shell != "" && len(args) > 0:
		return start, misuse(example, "-c has a shell text already: %s is too much", quoteAll(args))
	case f.shell != "":
		start.Command = f.shell
	case len(args) == 0:
		return start, misuse(example, "no command to run")
	default:
		start.Command = quoteAll(args)
	}
	if !utf8.ValidString(start.Command) {
		return start, fail("put it into a script and run that", "the command is not valid UTF-8")
	}
	if !utf8.ValidString(start.Label) {
		return start, fail("give another one", "the label %q is not valid UTF-8", start.Label)
	}
	var err error
	if start.Cwd, err = folder(f.dir); err != nil {
		return start, err
	}
	if len(args) == 1 && forShell(args[0], start.Cwd) {
		return start, misuse("did you mean: sidetask run -c "+quote(args[0]), "there is no program %q", args[0])
	}
	start.Env = p.environment()
	if f.timeout != 0 {
		start.TimeoutMs = number(f.timeout.ms())
	}
	if f.pty {
		size := p.terminalSize()
		start.PTY = &size
	}
	return start, nil
}

// forShell reports whether a word is a text for the shell, and no program that
// a command in that folder could be.
func forShell(word, dir string) bool {
	if !strings.ContainsAny(word, " \t\n") {
		return false
	}
	if !strings.ContainsRune(word, filepath.Separator) {
		_, err := exec.LookPath(word)
		return errors.Is(err, exec.ErrNotFound)
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	_, err := os.Stat(word)
	return err != nil
}

// folder makes dir absolute and looks that it is one to work in, so that the error
// names it. The daemon looks, too: only it knows whether it may go there.
func folder(dir string) (string, error) {
	const next = "change to a folder that exists, or give one with -C"
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fail(next, "find the working directory: %w", err)
	}
	if err := carried(abs); err != nil {
		return "", fail("rename it, or give another one with -C", "%w", err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fail(next, "working directory %s does not exist", abs)
	case err != nil:
		return "", fail(next, "working directory: %w", err)
	case !info.IsDir():
		return "", fail(next, "working directory %s is not a directory", abs)
	}
	if err := unix.Access(abs, unix.X_OK); err != nil {
		return "", fail(next, "working directory %s cannot be entered: %w", abs, err)
	}
	return abs, nil
}

// carried refuses a folder that JSON cannot carry: with the bytes that it would put
// in place of those that are no UTF-8 it is another folder, which there may be.
func carried(dir string) error {
	if utf8.ValidString(dir) {
		return nil
	}
	return fmt.Errorf("the name of the working directory %q is not valid UTF-8", dir)
}

// environment is this process's own, as far as JSON can carry it.
func (p *program) environment() map[string]string {
	env := make(map[string]string)
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !utf8.ValidString(entry) {
			p.say("the variable %q is not valid UTF-8 and is left out", name)
			continue
		}
		if name != "" {
			env[name] = value
		}
	}
	return env
}

// belong gives a start from inside a task to that task's owner.
func (p *program) belong(ctx context.Context, l *link, start *rpc.TaskStart) error {
	parent := os.Getenv("SIDETASK_TASK")
	if parent == "" || start.Session != "" || start.Shared {
		return nil
	}
	task, err := l.get(ctx, parent)
	if errors.Is(err, rpc.ErrUnknownTask) {
		p.say("SIDETASK_TASK names %s, which this daemon does not know: the new task is your own", parent)
		return nil
	}
	if err != nil {
		return err
	}
	switch owner := task.Operator; {
	case owner == nil:
	case owner.Owner == "":
		start.Shared = true
	default:
		start.Session, start.Agent = owner.Session, owner.Agent
	}
	return nil
}
