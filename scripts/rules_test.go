package scripts

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
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

// rule is one line of testdata/rules.tsv: a rule in a few words, and for one that no
// test can pin here, why.
type rule struct {
	number int
	says   string
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
		"Made by `go test ./scripts -run Rule -update`; do not edit. A test pins a rule by naming it: in the name or the\n" +
		"comment of a function, which is given then, or anywhere in a file. A rule's words are its gist: the tests say it exactly.\n" +
		"The numbers are those of comments in the code (BEHAVIOUR T60).\n\n" +
		"| rule | says | pinned by, or why by none |\n|---|---|---|\n")
	for _, r := range rules(t) {
		by := pins[r.number]
		slices.Sort(by)
		by = slices.Compact(by)
		switch {
		case len(by) == 0 && r.reason == "":
			t.Errorf("T%d (%s): no test names it; write one, or say in scripts/testdata/rules.tsv why there can be none", r.number, r.says)
		case len(by) > 0 && r.reason != "":
			t.Errorf("T%d (%s): it is pinned by %v, so take its reason out of scripts/testdata/rules.tsv", r.number, r.says, by)
		case len(by) == 0:
			by = []string{r.reason}
		default:
			for i := range by {
				by[i] = "`" + by[i] + "`"
			}
		}
		fmt.Fprintf(&table, "| T%d | %s | %s |\n", r.number, r.says, strings.Join(by, ", "))
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
			t.Fatalf("testdata/rules.tsv: %q is not rule, what it says, reason", line)
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
		byTest := make(map[int]bool)
		for test, said := range testsOf(t, name, text) {
			for _, n := range rulesIn(said) {
				pins[n] = append(pins[n], name+": "+test)
				byTest[n] = true
			}
		}
		for _, n := range rulesIn(string(text)) {
			if !byTest[n] {
				pins[n] = append(pins[n], name)
			}
		}
	}
	return pins
}

// rulesIn gives the rules that a text names.
func rulesIn(text string) (all []int) {
	for _, match := range named.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(match[1])
		last := first
		if match[2] != "" {
			last, _ = strconv.Atoi(match[2])
		}
		for n := first; n <= last && n-first < 20; n++ {
			all = append(all, n)
		}
	}
	return all
}

// testsOf gives name and comment of each test, fuzz target and benchmark of a Go
// file by its name; of another file none.
func testsOf(t *testing.T, name string, text []byte) map[string]string {
	t.Helper()
	if !strings.HasSuffix(name, ".go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string]string)
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if ok && f.Recv == nil && testName.MatchString(f.Name.Name) {
			// "TestWaitT48" and "TestT48_Wait" name a rule as a word of its own does.
			words := ruleInName.ReplaceAllString(f.Name.Name, " $0 ")
			tests[f.Name.Name] = words + "\n" + f.Doc.Text()
		}
	}
	return tests
}

var (
	testName   = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[^a-z]`)
	ruleInName = regexp.MustCompile(`T\d{1,3}`)
)
