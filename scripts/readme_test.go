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

// step is one line of the README's socket section and its answer, in which …
// stands for anything.
type step struct{ command, answer string }

// TestReadmeSocketSection runs each line of the README's section about the
// socket with nothing but bash and socat, and compares its answer.
func TestReadmeSocketSection(t *testing.T) {
	steps := readmeSteps(t)
	if len(steps) < 7 {
		t.Fatalf("the README's socket section has %d commands, expected at least the six calls and the function", len(steps))
	}
	env := startDaemon(t)
	functions := ""
	for _, s := range steps {
		if s.answer == "" {
			functions += s.command + "\n" // defines what the later ones use
			continue
		}
		bash := exec.Command("bash", "-c", functions+s.command)
		bash.Env = env
		out, err := bash.CombinedOutput()
		if err != nil {
			t.Fatalf("$ %s\n%s%v", s.command, out, err)
		}
		got := strings.TrimSuffix(string(out), "\n")
		var pattern strings.Builder
		for i, part := range strings.Split(s.answer, "…") {
			if i > 0 {
				pattern.WriteString(".*")
			}
			pattern.WriteString(regexp.QuoteMeta(part))
		}
		if !regexp.MustCompile("^" + pattern.String() + "$").MatchString(got) {
			t.Errorf("$ %s\n got %s\nwant %s", s.command, got, s.answer)
		}
	}
}

// readmeSteps reads the ```console block.
func readmeSteps(t *testing.T) (steps []step) {
	t.Helper()
	file, err := os.Open("../README.md")
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
			steps[len(steps)-1].answer += line
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
		"XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "SIDETASK_SOCKET="+socket)
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
	demo := exec.Command("./demo")
	var stderr strings.Builder
	demo.Stderr = &stderr
	got, err := demo.Output()
	if err != nil {
		t.Fatalf("scripts/demo: %v\n%s%s", err, got, stderr.String())
	}
	clock := regexp.MustCompile(`(?m)^ *[0-9.]+s`)
	if g, w := clock.ReplaceAllString(string(got), ""), clock.ReplaceAllString(want, ""); g != w {
		t.Errorf("scripts/demo prints something else than the README shows; got\n%s", got)
	}
}
