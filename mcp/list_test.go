package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sidetask/render"
)

var update = flag.Bool("update", false, "rewrite the golden file")

const discover = `{"jsonrpc":"2.0","id":"discover-1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"3"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// listed is what a server without any daemon says of itself: the line of
// tools/list and the instructions.
func listed(t *testing.T, token string) (list, instructions string) {
	t.Helper()
	a := start(t, Options{Socket: socketPath(t), Token: token}, patient, &journal{})
	a.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	var hello struct{ Result struct{ Instructions string } }
	if err := json.Unmarshal([]byte(a.next()), &hello); err != nil {
		t.Fatal(err)
	}
	a.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	a.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	return a.next(), hello.Result.Instructions
}

// T170, ACP.md §3, issue 3: list and guidance need no daemon, are the same bytes
// at every start, and at most 3000. Without a proxy the guidance is another one:
// nothing opens a turn there, and the tasks end with the session (CLI.md).
func TestListIsStableAndSmall(t *testing.T) {
	t.Run("proxied", func(t *testing.T) { stableAndSmall(t, "t", render.Instructions()) })
	t.Run("alone", func(t *testing.T) { stableAndSmall(t, "", render.OwnInstructions()) })
}

func stableAndSmall(t *testing.T, token, guidance string) {
	list, instructions := listed(t, token)
	again, same := listed(t, token)
	if list != again || instructions != same {
		t.Errorf("two starts differ:\n%s\n%s", list, again)
	}
	if instructions != guidance {
		t.Errorf("instructions %q", instructions)
	}
	var m struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(list), &m); err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(instructions)
	if n := len(m.Result) + len(quoted); n > 3000 {
		t.Errorf("tools/list and instructions cost each request %d bytes, more than 3000", n)
	} else {
		t.Logf("tools/list and instructions: %d bytes", n)
	}
	golden := filepath.Join("testdata", "tools-list.golden.json")
	if *update {
		if err := os.WriteFile(golden, []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if list != string(want) {
		t.Errorf("tools/list changed; if that is meant: go test ./mcp -update\ngot  %s\nwant %s", list, want)
	}
}

// ACP.md §3: annotations, alwaysLoad, no output schema.
func TestListedTools(t *testing.T) {
	list, _ := listed(t, "t")
	if strings.Contains(list, "outputSchema") {
		t.Error("an output schema: agents would show the model only structured values")
	}
	var m struct {
		Result struct {
			Tools []struct {
				Name        string
				Annotations map[string]bool
				Meta        map[string]bool `json:"_meta"`
			}
		}
	}
	if err := json.Unmarshal([]byte(list), &m); err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{"task_output": true, "task_list": true, "task_start": false, "task_kill": false}
	for _, tool := range m.Result.Tools {
		want, known := readOnly[tool.Name]
		if !known {
			t.Errorf("unknown tool %s", tool.Name)
		}
		delete(readOnly, tool.Name)
		if !tool.Meta["anthropic/alwaysLoad"] {
			t.Errorf("%s: no alwaysLoad", tool.Name)
		}
		destructive, said := tool.Annotations["destructiveHint"]
		open, saidOpen := tool.Annotations["openWorldHint"]
		if tool.Annotations["readOnlyHint"] != want || !want && (!said || destructive || !saidOpen || open) {
			t.Errorf("%s: annotations %v", tool.Name, tool.Annotations)
		}
	}
	if len(readOnly) > 0 {
		t.Errorf("not listed: %v", readOnly)
	}
}

// ACP.md §3: Claude Code's first request is answered, properly where it says the
// version that has it.
func TestDiscover(t *testing.T) {
	a := start(t, Options{Socket: socketPath(t), Token: "t"}, patient, &journal{})
	a.send(`{"jsonrpc":"2.0","id":"discover-1","method":"server/discover","params":{}}`)
	if line := a.next(); !strings.Contains(line, `"id":"discover-1"`) || !strings.Contains(line, `-32601`) {
		t.Errorf("got %s", line)
	}
	a.hello("claude-code", "3") // the old handshake follows
	a = start(t, Options{Socket: socketPath(t), Token: "t"}, patient, &journal{})
	a.send(discover)
	if line := a.next(); !strings.Contains(line, `"id":"discover-1"`) || !strings.Contains(line, "supportedVersions") || !strings.Contains(line, "task_output") {
		t.Errorf("got %s", line)
	}
	a.send(strings.Replace(strings.Replace(discover, "server/discover", "tools/list", 1), "discover-1", "list-1", 1))
	if line := a.next(); !strings.Contains(line, `"id":"list-1"`) || !strings.Contains(line, "task_start") {
		t.Errorf("got %s", line)
	}
}

// A line that is no message is answered, and the session lives on.
func TestBadLines(t *testing.T) {
	a := start(t, Options{Socket: socketPath(t), Token: "t"}, patient, &journal{})
	a.hello("x", "1")
	for line, want := range map[string]string{
		`nonsense`:   "-32700",
		`{"a":`:      "-32700",
		`[{"id":1}]`: "-32600",
		`{}`:         "-32600",
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`: "-32600",
		`"` + strings.Repeat("x", maxLine) + `"`:   "-32600",
		`{"jsonrpc":"2.0","id":7,"method":"nope"}`: "-32601",
	} {
		a.send(line)
		if got := a.next(); !strings.Contains(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("%.40s: got %s, want %s", line, got, want)
		}
	}
	a.send("\n  \r\n" + `{"jsonrpc":"2.0","id":8,"method":"ping"}` + "\r")
	if got := a.next(); !strings.Contains(got, `"id":8`) || !strings.Contains(got, `"result"`) {
		t.Errorf("ping after that: %s", got)
	}
}

// ACP.md §1: JSON is UTF-8. What is not is refused under its id: the daemon knows
// no call in such a line, and the agent would wait for ever.
func TestNotUTF8(t *testing.T) {
	a := start(t, Options{Socket: socketPath(t), Token: "t"}, patient, &journal{})
	a.hello("x", "1")
	for line, id := range map[string]string{
		call("3", "task_start", "{\"command\":\"echo \xff\"}"):                                        "3",
		"{\"params\":{\"_meta\":{\"a\":\"\xc3\"}},\"jsonrpc\":\"2.0\",\"method\":\"x\",\"id\":\"z\"}": `"z"`,
		call("\"\xff\"", "task_list", "{}"):                                                           "null",
	} {
		a.send(line)
		if got := a.next(); !strings.Contains(got, `"id":`+id+`,"error":{"code":-32700`) || !json.Valid([]byte(got)) {
			t.Errorf("%q: got %s, want the id %s", line, got, id)
		}
	}
}

// Whatever an agent writes: no panic, and what is refused is answered with JSON.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{}}}` + "\n[1]\n\xff\r\n{\"id\":1.5}"))
	f.Fuzz(func(t *testing.T, input []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(input), 16)
		total := 0
		for {
			l, err := readLine(in)
			total += len(l.data)
			if len(bytes.TrimSpace(l.data)) > 0 {
				msg, refused := decode(l)
				if (msg == nil) == (refused == nil) {
					t.Fatalf("%q: message %v, refusal %v", l.data, msg, refused)
				}
				if refused != nil && !json.Valid(refused.line()) {
					t.Errorf("%q is answered with %s", l.data, refused.line())
				}
			}
			if err != nil {
				break
			}
		}
		if total != len(input) {
			t.Errorf("%d bytes of %d were read", total, len(input))
		}
	})
}
