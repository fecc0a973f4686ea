package render

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// T170, T114, issue 3: what each request of a model begins with is the same
// bytes. A change of this golden file costs every user's prompt cache once.
func TestToolsGolden(t *testing.T) {
	got, err := json.MarshalIndent(struct {
		Tools        []Tool
		Instructions string
	}{Tools(), Instructions()}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "tools.golden.json")
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("tools and instructions changed; if that is meant: go test ./render -update\ngot %s", got)
	}
}

// T111, T112, T113: the schemas but for their descriptions.
func TestSchemas(t *testing.T) {
	want := map[string]string{
		"task_start":  `{"properties":{"command":{"type":"string"},"cwd":{"type":"string"},"label":{"type":"string"},"timeout_ms":{"type":"number"}},"required":["command"],"type":"object"}`,
		"task_output": `{"properties":{"from":{"enum":["start"],"type":"string"},"task_id":{"type":"string"},"timeout_ms":{"type":"number"},"until":{"type":"string"},"wait":{"type":"boolean"}},"required":["task_id"],"type":"object"}`,
		"task_list":   `{"properties":{},"type":"object"}`,
		"task_kill":   `{"properties":{"reason":{"type":"string"},"task_id":{"type":"string"}},"required":["task_id"],"type":"object"}`,
	}
	for _, tool := range Tools() {
		var schema map[string]any
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatalf("%s: %v in %s", tool.Name, err, tool.InputSchema)
		}
		for name, p := range schema["properties"].(map[string]any) {
			if d, _ := p.(map[string]any)["description"].(string); d == "" {
				t.Errorf("%s: no description of %s", tool.Name, name)
			}
			delete(p.(map[string]any), "description")
		}
		got, _ := json.Marshal(schema)
		if string(got) != want[tool.Name] {
			t.Errorf("%s: %s, want %s", tool.Name, got, want[tool.Name])
		}
	}
}

// T114: no configured number in what the model is told, whose bytes would change
// with it.
func TestDescriptionsNameNoNumber(t *testing.T) {
	for _, tool := range Tools() {
		text := strings.ReplaceAll(tool.Description+string(tool.InputSchema), "RE2", "")
		if strings.ContainsAny(text, "0123456789") {
			t.Errorf("%s names a number: %s", tool.Name, text)
		}
	}
}

// T170: the guidance names what it is about.
func TestInstructions(t *testing.T) {
	for _, text := range []string{Instructions(), OwnInstructions()} {
		for _, word := range []string{"task_start", "task_output", "task_kill", "poll", "every id"} {
			if !strings.Contains(text, word) {
				t.Errorf("%q is missing in %q", word, text)
			}
		}
	}
}

// T117, T118: what is wrong is said, all of it.
func TestCheckArguments(t *testing.T) {
	tests := []struct{ tool, args, want string }{
		{"task_output", `{"task_id":"bash-1"}`, ""},
		{"task_output", `{"task_id":"","extra":[1]}`, ""},
		{"task_output", `{"task_id":"a","wait":false,"timeout_ms":-1.5e3,"until":"x","from":"start"}`, ""},
		{"task_list", ``, ""},
		{"task_list", `{"x":1}`, ""},
		{"task_list", `[]`, `invalid arguments: "arguments" must be an object`},
		{"task_output", `null`, `invalid arguments: "arguments" must be an object`},
		{"task_output", `{"Task_ID":"bash-1"}`, `invalid arguments: missing required property "task_id"`},
		{"task_output", `{"wait":1,"timeout_ms":"5"}`, `invalid arguments: missing required property "task_id"; "wait" must be a boolean; "timeout_ms" must be a number`},
		{"task_output", `{"task_id":"a","from":"end"}`, `invalid arguments: "from" must be "start"`},
		{"task_output", `{"task_id":"a","wait":null}`, `invalid arguments: "wait" must be a boolean`},
		{"task_start", `{"command":["ls"]}`, `invalid arguments: "command" must be a string`},
		{"task_kill", `{"task_id":7,"reason":{}}`, `invalid arguments: "task_id" must be a string; "reason" must be a string`},
		{"task_eat", `{}`, `unknown tool "task_eat"`},
	}
	for _, test := range tests {
		got := ""
		if err := CheckArguments(test.tool, json.RawMessage(test.args)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s %s: %q, want %q", test.tool, test.args, got, test.want)
		}
	}
}
