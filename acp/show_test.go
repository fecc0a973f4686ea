package acp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each row of the table has a transcript with the name that the editor gives itself.
func TestEveryClientHasATranscript(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/show-*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`"note":"(.*): showWake (\w+) \(auto: (.*?)\)"`).FindAllStringSubmatch(string(raw), -1) {
			for _, c := range clients {
				if strings.HasPrefix(strings.ToLower(m[1]), c.name) && m[2] == c.show && m[3] == c.why {
					shown[c.name] = true
				}
			}
		}
	}
	for _, c := range clients {
		if !shown[c.name] {
			t.Errorf("no transcript shows %q as %s", c.name, c.show)
		}
	}
}
