package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link       = regexp.MustCompile(`\]\(([^):#]*)(?:#([^)]*))?\)`)
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInASlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLead follows the links of all pages within the repository, to the file
// and to the heading.
func TestLinksLead(t *testing.T) {
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	followed := 0
	for name := range strings.Lines(string(out)) {
		page := filepath.Join("..", strings.TrimSuffix(name, "\n"))
		text, err := os.ReadFile(page)
		if os.IsNotExist(err) {
			continue // deleted, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range link.FindAllStringSubmatch(string(text), -1) {
			target := page
			if to[1] != "" {
				target = filepath.Join(filepath.Dir(page), to[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, to[0], err)
			} else if to[2] != "" && !hasHeading(t, target, to[2]) {
				t.Errorf("%s links to %s: no such heading", page, to[0])
			}
			followed++
		}
	}
	if followed == 0 {
		t.Error("no page has a link: this test looks in the wrong place")
	}
}

// hasHeading reports whether a page has the heading of an anchor, which is its
// text in small letters with dashes for spaces, and without other signs.
func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
		if strings.ReplaceAll(notInASlug.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-") == anchor {
			return true
		}
	}
	return false
}
