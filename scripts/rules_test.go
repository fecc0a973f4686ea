package scripts

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/behaviour.md")

// rule is one line of testdata/rules.tsv: a rule of BEHAVIOUR.md, and for one
// that no test can pin here, why.
type rule struct {
	number int
	name   string
	reason string
}

// named finds the rules that a test names: T60, T44–T58, T44 to T58.
var named = regexp.MustCompile(`\bT(\d{1,3})(?:\s*(?:–|-|to)\s*T(\d{1,3}))?\b`)

// TestEveryRuleIsPinned holds docs/behaviour.md, the table of rules and the
// tests that pin them, to the tests as they are. A rule without a test, or without a
// reason why it has none, fails.
func TestEveryRuleIsPinned(t *testing.T) {
	pins := pinnedRules(t)
	var table bytes.Buffer
	table.WriteString("# The rules, and the tests that pin them\n\n" +
		"Made by `go test ./scripts -run Rule -update`; do not edit. A test pins a rule by naming it.\n\n" +
		"| rule | name | pinned by |\n|---|---|---|\n")
	for _, r := range rules(t) {
		by := pins[r.number]
		slices.Sort(by)
		by = slices.Compact(by)
		switch {
		case len(by) == 0 && r.reason == "":
			t.Errorf("T%d (%s): no test names it; write one, or say in scripts/testdata/rules.tsv why there can be none", r.number, r.name)
		case len(by) > 0 && r.reason != "":
			t.Errorf("T%d (%s): it is pinned by %v, so take its reason out of scripts/testdata/rules.tsv", r.number, r.name, by)
		case len(by) == 0:
			by = []string{r.reason}
		default:
			for i := range by {
				by[i] = "`" + by[i] + "`"
			}
		}
		fmt.Fprintf(&table, "| T%d | %s | %s |\n", r.number, r.name, strings.Join(by, ", "))
	}
	const file = "../docs/behaviour.md"
	if *update {
		if err := os.WriteFile(file, table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, table.Bytes()) {
		t.Errorf("docs/behaviour.md is not what the tests say (%v): go test ./scripts -run Rule -update", err)
	}
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	text, err := os.ReadFile("testdata/rules.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		number, err := strconv.Atoi(strings.TrimPrefix(fields[0], "T"))
		if err != nil || len(fields) != 3 {
			t.Fatalf("testdata/rules.tsv: %q is not rule, name, reason", line)
		}
		all = append(all, rule{number, fields[1], fields[2]})
	}
	return all
}

// pinnedRules reads all tests of the repository.
func pinnedRules(t *testing.T) map[int][]string {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*_test.go", "*.txtar")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	pins := make(map[int][]string)
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSuffix(name, "\n")
		if name == "scripts/rules_test.go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", name))
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range named.FindAllSubmatch(text, -1) {
			first, _ := strconv.Atoi(string(match[1]))
			last := first
			if len(match[2]) > 0 {
				last, _ = strconv.Atoi(string(match[2]))
			}
			for n := first; n <= last && n-first < 20; n++ {
				pins[n] = append(pins[n], name)
			}
		}
	}
	return pins
}
