package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// cited finds what a row of docs/field.md cites: `process: TestKill`, or a file.
var cited = regexp.MustCompile("`([^`]+)`")

// TestFieldIsCovered holds docs/field.md to the tests as they are: each row names
// tests that are there, or says in words why there can be none.
func TestFieldIsCovered(t *testing.T) {
	text, err := os.ReadFile("../docs/field.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if !strings.HasPrefix(line, "| ") || cells[0] == "what went wrong elsewhere" || cells[0] == "fact" {
			continue
		}
		rows++
		if len(cells) != 3 {
			t.Errorf("%q has %d cells, want 3: what happened, what is right, the tests", line, len(cells))
			continue
		}
		if reason, ok := strings.CutPrefix(cells[2], "no test: "); ok && reason != "" {
			continue
		}
		names := cited.FindAllStringSubmatch(cells[2], -1)
		if len(names) == 0 {
			t.Errorf("%q names no test, nor says \"no test: \" and why", cells[0])
		}
		for _, name := range names {
			if err := there(t, name[1]); err != "" {
				t.Errorf("%q cites `%s`: %s", cells[0], name[1], err)
			}
		}
	}
	if rows == 0 {
		t.Error("docs/field.md has no rows")
	}
}

// there says what is wrong with a citation.
func there(t *testing.T, citation string) (wrong string) {
	t.Helper()
	dir, test, isTest := strings.Cut(citation, ": ")
	if !isTest {
		if _, err := os.Stat(filepath.Join("..", citation)); err != nil {
			return "no such file"
		}
		return ""
	}
	files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := testsOf(t, file, text)[test]; ok {
			return ""
		}
	}
	return "no such test in that folder"
}
