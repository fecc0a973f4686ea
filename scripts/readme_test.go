package scripts

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// step is one command of a page and its answer, in which … stands for anything.
type step struct{ command, answer string }

// pages are those whose ```console blocks are run, with how many commands they
// have at least: a test that finds none would hold nothing.
var pages = map[string]int{"README.md": 7, "docs/api.md": 15, "docs/tasks.md": 8}

// TestConsoleBlocks runs each command of the pages' console blocks with nothing but
// bash, socat and sidetask, each page against a daemon of its own, and compares
// the answers.
func TestConsoleBlocks(t *testing.T) {
	for page, least := range pages {
		t.Run(page, func(t *testing.T) {
			steps := consoleSteps(t, page)
			if len(steps) < least {
				t.Fatalf("%s has %d commands, expected at least %d", page, len(steps), least)
			}
			for i, got := range runSteps(t, steps, startDaemon(t)) {
				if !matches(steps[i].answer, got) {
					t.Errorf("$ %s\n got %s\nwant %s", steps[i].command, got, steps[i].answer)
				}
			}
		})
	}
}

// runSteps runs the commands in one shell, as a reader would, and gives what each
// printed.
func runSteps(t *testing.T, steps []step, env []string) (answers []string) {
	t.Helper()
	const end = "\x1e" // no command prints it
	var script strings.Builder
	for _, s := range steps {
		script.WriteString(s.command + "\nprintf '" + end + "'\n")
	}
	bash := exec.Command("bash", "-c", script.String())
	bash.Env = env
	out, err := bash.CombinedOutput()
	answers = strings.Split(string(out), end)
	if err != nil || len(answers) != len(steps)+1 {
		t.Fatalf("%v after %d of %d commands:\n%s", err, len(answers)-1, len(steps), out)
	}
	for i := range answers {
		answers[i] = strings.TrimSuffix(answers[i], "\n")
	}
	return answers[:len(steps)]
}

func matches(pattern, got string) bool {
	parts := strings.Split(pattern, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(got)
}

// consoleSteps reads the ```console blocks of a page.
func consoleSteps(t *testing.T, page string) (steps []step) {
	t.Helper()
	file, err := os.Open(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	inside := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		switch {
		case line == "```console":
			inside = true
		case line == "```":
			inside = false
		case !inside:
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, step{command: line[2:]})
		default:
			last := &steps[len(steps)-1]
			last.answer = strings.TrimPrefix(last.answer+"\n"+line, "\n")
		}
	}
	return steps
}

// startDaemon builds the programs, starts a daemon in fresh folders, and gives
// the environment in which a script reaches it.
func startDaemon(t *testing.T) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "st") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	build := exec.Command("go", "install", "./cmd/...")
	build.Dir = ".."
	build.Env = append(os.Environ(), "GOBIN="+filepath.Join(dir, "bin"))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	for _, name := range []string{"run", "state", "config"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "run", "sidetask", "sidetask.sock")
	env := append(os.Environ(),
		"XDG_RUNTIME_DIR="+filepath.Join(dir, "run"), "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "SIDETASK_SOCKET="+socket,
		"PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	sidetask := filepath.Join(dir, "bin", "sidetask")
	run := func(args ...string) {
		cmd := exec.Command(sidetask, args...)
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("sidetask %v: %v\n%s", args, err, out)
		}
	}
	run("status")
	t.Cleanup(func() { run("daemon", "stop") })
	return env
}

// TestReadmeTranscript runs scripts/demo and compares what it prints with the
// README's transcript, but for the times.
func TestReadmeTranscript(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "<!-- transcript: begin")
	_, rest, _ = strings.Cut(rest, "```text\n")
	want, _, found := strings.Cut(rest, "```\n")
	if !found {
		t.Fatal("the README has no transcript between its marks")
	}
	got := runDemo(t)
	for strings.Contains(got, "the command ended before the turn did") {
		t.Log("this machine took longer for a turn than the command's 3 s: once more")
		got = runDemo(t)
	}
	clock := regexp.MustCompile(`(?m)^ *[0-9.]+s`)
	if g, w := clock.ReplaceAllString(got, ""), clock.ReplaceAllString(want, ""); g != w {
		t.Errorf("scripts/demo prints something else than the README shows; got\n%s", got)
	}
}

func runDemo(t *testing.T) string {
	t.Helper()
	demo := exec.Command("./demo")
	var stderr strings.Builder
	demo.Stderr = &stderr
	got, err := demo.Output()
	if err != nil {
		t.Fatalf("scripts/demo: %v\n%s%s", err, got, stderr.String())
	}
	return string(got)
}
