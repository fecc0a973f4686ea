package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script writes a policy program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPolicyPrograms pins [[policy]] of CONFIG.md: JSON in and out, status 2
// denies with stderr as the reason, anything else that fails denies.
func TestPolicyPrograms(t *testing.T) {
	for name, c := range map[string]struct{ script, stage, want string }{
		"allows":           {`grep -q '"name":"task_list"' && echo '{"decision":"allow"}'`, "pre", "job-1 [job] running — work"},
		"denies":           {`echo '{"decision":"deny","reason":"by JSON"}'`, "pre", "Error: by JSON"},
		"denies by status": {"echo ' because of me ' >&2; exit 2", "pre", "Error: because of me"},
		"fails":            {"echo hm >&2; exit 3", "pre", "Error: the policy program PATH cannot be asked (exit status 3): the call is denied"},
		"is killed":        {"kill -9 $$", "pre", "Error: the policy program PATH cannot be asked (signal: killed): the call is denied"},
		"says nothing":     {"exit 0", "pre", "Error: the policy program PATH cannot be asked (its output is no answer in JSON: unexpected end of JSON input): the call is denied"},
		"takes too long":   {"sleep 1000", "pre", "Error: the policy program PATH did not answer within 300 ms: the call is denied"},
		"gives a value":    {`echo '{"decision":"value","value":[]}'`, "pre", "(no background tasks)"},
		"replaces":         {`echo '{"decision":"accept","content":[{"type":"text","text":"other"}]}'`, "post", "other"},
		"blocks silently":  {`echo '{"decision":"block"}'`, "post", "Error: the result was blocked by the policy program PATH"},
		"is a mistake":     {`echo '{"decision":7}'`, "pre", `Error: the policy program PATH cannot be asked (its output is no answer in JSON: "decision" cannot be a number): the call is denied`},
		"blocks":           {"echo no >&2; exit 2", "post", "Error: no"},
	} {
		t.Run(name, func(t *testing.T) {
			path := script(t, c.script)
			ms := 30000
			if name == "takes too long" {
				ms = 300
			}
			_, model, _, _ := policed(t, fmt.Sprintf("[[policy]]\nscope = \"/\"\nstage = %q\nrun = [%q]\ntools = [\"task_list\"]\ntimeoutMs = %d\n", c.stage, path, ms))
			got := text(t, model.tool(tokenA, "task_list", args{}))
			if want := strings.ReplaceAll(c.want, "PATH", path); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
