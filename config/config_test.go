package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sidetask/scope"
	"sidetask/scripts/leaks"
)

var update = flag.Bool("update", false, "write docs/config.md")

// TestMain: each check of the property test makes a dozen saves; 25 of them are
// the usual, -rapid.checks asks for more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "25"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	leaks.Main(m)
}

// file writes a configuration into a fresh folder.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	write(t, path, content)
	return path
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, content string) (*Settings, Origins) {
	t.Helper()
	s, o, err := Load(file(t, content))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return s, o
}

// TestDefaults pins CONFIG.md's file, value by value, as the meaning of no file.
func TestDefaults(t *testing.T) {
	s, origins, err := Load(filepath.Join(t.TempDir(), "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Settings{
		Limits:    Limits{MaxConcurrentTasksPerOwner: 10, MaxMessageBytes: 16777216, MaxConnections: 1024},
		Commands:  Commands{Shell: "bash", OutputLimitBytes: 32768, SpoolBytes: 67108864, KeepHeadBytes: 1048576, StopGraceMs: 3000, CleanOutput: true},
		Owners:    Owners{GraceMs: 28800000, ProducerGraceMs: 60000},
		Retention: Retention{Days: 7, Tasks: 1000, Bytes: 1073741824},
		Daemon:    Daemon{OnStop: "auto", IdleExitMs: 1800000},
		ACP:       ACP{ShowWake: "auto", MaxDrains: 8, AgentGraceMs: 5000, WakePermissionMs: 120000},
		Log:       Log{Level: "info", Format: "auto"},
		Mounts: map[scope.Path]Mount{"/": {
			Scope: "/", Enabled: true, WaitTimeoutMs: 30000, MaxWaitTimeoutMs: 600000,
			CompletionDelivery: "wakeup", MaxConsecutiveWakes: 3, Origin: "default",
		}},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	for _, setting := range List(s, origins) {
		if setting.Origin != "default" {
			t.Errorf("%s comes from %q, want default", setting.Key, setting.Origin)
		}
	}
}

// everyKey is a file that says every key, each with another value than the default.
const everyKey = `
[mounts."/"]
enabled = false
waitTimeoutMs = 1
maxWaitTimeoutMs = 2147483647
completionDelivery = "quiet"
maxConsecutiveWakes = 9007199254740991

[limits]
maxConcurrentTasksPerOwner = 9007199254740991
maxMessageBytes = 4096
maxConnections = 1

[commands]
shell = "/bin/sh"
outputLimitBytes = 0
spoolBytes = 1048577
keepHeadBytes = 0
stopGraceMs = 0
cleanOutput = false
timeoutMs = 1
memoryMax = "4G"
cpuMax = "200%"
pidsMax = 4096

[owners]
graceMs = 0
producerGraceMs = 0

[retention]
days = 1
tasks = 1
bytes = 1

[daemon]
onStop = "keep"
idleExitMs = 0

[acp]
showWake = "off"
maxDrains = 0
agentGraceMs = 0
wakePermissionMs = 0

[log]
level = "debug"
format = "json"

[[policy]]
scope = "/x"
tools = ["task_kill"]
stage = "post"
run = ["/bin/true", "-v"]
timeoutMs = 1
`

func TestEveryKey(t *testing.T) {
	s, origins := load(t, everyKey)
	fallback, _ := defaults()
	byKey := map[string]Setting{}
	for _, setting := range List(fallback, nil) {
		byKey[setting.Key] = setting
	}
	lines := strings.Split(everyKey, "\n")
	for _, setting := range List(s, origins) {
		if setting.Origin == "default" {
			t.Errorf("%s is the default, want what the file says", setting.Key)
			continue
		}
		line := lines[atoi(t, setting.Origin[strings.LastIndexByte(setting.Origin, ':')+1:])-1]
		name := setting.Key[strings.LastIndexByte(setting.Key, '.')+1:]
		if want := name + " = " + literal(setting.Value); line != want {
			t.Errorf("%s = %v from the line %q", setting.Key, setting.Value, line)
		}
		if cmp.Equal(byKey[setting.Key].Value, setting.Value) {
			t.Errorf("%s: the test has the default %v", setting.Key, setting.Value)
		}
	}
}

// TestInheritance pins CONFIG.md: a table inherits from the nearest above,
// enabled never.
func TestInheritance(t *testing.T) {
	s, origins := load(t, `
[mounts."/review/strict/deep"]
maxConsecutiveWakes = 7
[mounts."/review"]
enabled = false
completionDelivery = "quiet"
waitTimeoutMs = 5
[mounts."/"]
waitTimeoutMs = 4
[mounts."/other"]
`)
	want := map[scope.Path]Mount{
		"/":                   {Scope: "/", Enabled: true, WaitTimeoutMs: 4, MaxWaitTimeoutMs: 600000, CompletionDelivery: "wakeup", MaxConsecutiveWakes: 3},
		"/other":              {Scope: "/other", Enabled: true, WaitTimeoutMs: 4, MaxWaitTimeoutMs: 600000, CompletionDelivery: "wakeup", MaxConsecutiveWakes: 3},
		"/review":             {Scope: "/review", WaitTimeoutMs: 5, MaxWaitTimeoutMs: 600000, CompletionDelivery: "quiet", MaxConsecutiveWakes: 3},
		"/review/strict/deep": {Scope: "/review/strict/deep", Enabled: true, WaitTimeoutMs: 5, MaxWaitTimeoutMs: 600000, CompletionDelivery: "quiet", MaxConsecutiveWakes: 7},
	}
	if diff := cmp.Diff(want, s.Mounts, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Origin" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	if got := s.Mounts["/review"].Origin; !strings.HasSuffix(got, "config.toml:4") {
		t.Errorf("mount /review comes from %q, want line 4", got)
	}
	for key, want := range map[string]string{
		`mounts."/other".waitTimeoutMs`:                   "inherited from /",
		`mounts."/other".enabled`:                         "default",
		`mounts."/review/strict/deep".enabled`:            "default",
		`mounts."/review/strict/deep".waitTimeoutMs`:      "inherited from /review",
		`mounts."/review/strict/deep".maxWaitTimeoutMs`:   "default",
		`mounts."/review/strict/deep".completionDelivery`: "inherited from /review",
	} {
		if origins[key] != want {
			t.Errorf("origin of %s = %q, want %q", key, origins[key], want)
		}
	}
}

// TestCommented holds the commented file and the definitions together: it
// means the defaults as it stands, and with every key taken in.
func TestCommented(t *testing.T) {
	fallback, _ := defaults()
	s, origins, err := parse("c", Commented())
	if err != nil {
		t.Fatal(err)
	}
	if !s.equal(fallback) {
		t.Error("the commented file does not mean the defaults")
	}
	for key, origin := range origins {
		if origin != fromDefault {
			t.Errorf("%s comes from %s", key, origin)
		}
	}
	all := regexp.MustCompile(`(?m)^#([a-zA-Z\[])`).ReplaceAllString(string(Commented()), "$1")
	s, origins, err = parse("c", []byte(all))
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range List(s, origins) {
		if setting.Origin == fromDefault && !strings.Contains(setting.Key, "/review") {
			t.Errorf("%s is not in the commented file", setting.Key)
		}
	}
	s.Policies = nil
	delete(s.Mounts, "/review")
	if !s.equal(fallback) {
		t.Error("the commented keys are not the defaults")
	}
}

// TestReference holds docs/config.md and the definitions together.
func TestReference(t *testing.T) {
	const path = "../docs/config.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(doc), "-update -->\n")
	_, tail, ok2 := strings.Cut(rest, "<!-- end of keys -->")
	if !ok || !ok2 {
		t.Fatal("docs/config.md has lost the marks of its table")
	}
	want := head + "-update -->\n\n" + string(Reference()) + "<!-- end of keys -->" + tail
	if *update {
		write(t, path, want)
		return
	}
	if diff := cmp.Diff(want, string(doc)); diff != "" {
		t.Errorf("docs/config.md is not what the definitions say (go test ./config -run TestReference -update):\n%s", diff)
	}
}

// TestDefaultsAreAllowed: a default that would be refused could not be written.
func TestDefaultsAreAllowed(t *testing.T) {
	for _, s := range sections {
		for _, d := range s.keys {
			value := d.fallback
			if list, ok := value.([]string); ok {
				value = []any{}
				if len(list) > 0 {
					t.Fatalf("%s: not foreseen here", d.name)
				}
			}
			if value == nil {
				continue
			}
			if _, ok := d.accept(value); !ok {
				t.Errorf("default of %s.%s (%v) is not %s", s.name, d.name, value, d.allowed)
			}
		}
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
