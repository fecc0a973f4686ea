package acp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// The line on stderr promises background tasks only where a mount serves the preset.
func TestSaysWhatIsServed(t *testing.T) {
	for _, c := range []struct{ scope, mounts, want string }{
		{"/", `{"mounts":[{"scope":"/","enabled":true}]}`, "acp: background tasks for"},
		{"/review", `{"mounts":[{"scope":"/","enabled":true}]}`, "acp: background tasks for"},
		{"/review", `{"mounts":[{"scope":"/","enabled":true},{"scope":"/review","enabled":false}]}`, "acp: no mount serves this preset"},
		{"/", `{"mounts":[{"scope":"/review","enabled":true}]}`, "acp: no mount serves this preset"},
		{"/", `{"mounts":[]}`, "acp: no mount serves this preset"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBenchWith(t, func(o *Options) { o.Scope = c.scope })
			b.daemon.mounts = c.mounts
			b.input(`E> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
			synctest.Wait()
			b.input(`A> {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`)
			synctest.Wait()
			if got := b.er.take(); !strings.Contains(got, c.want) {
				t.Errorf("%s of %s: %q", c.scope, c.mounts, got)
			}
			b.end()
		})
	}
}

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
