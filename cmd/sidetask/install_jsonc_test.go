package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var setMemberCases = []struct {
	name, in, want string
}{
	{"no file", "", "{\n  \"agent_servers\": {\n    \"x\": {\n      \"command\": \"c\"\n    }\n  }\n}\n"},
	{"only a comment", "// mine\n", "// mine\n{\n  \"agent_servers\": {\n    \"x\": {\n      \"command\": \"c\"\n    }\n  }\n}\n"},
	{
		"comments, order and tabs stay",
		"// Zed settings\n{\n\t/* theme */ \"theme\": \"One\", // dark\n\t\"a\": [1, 2,], // last\n\t// the end\n}\n// after\n",
		"// Zed settings\n{\n\t/* theme */ \"theme\": \"One\", // dark\n\t\"a\": [1, 2,], // last\n\t// the end\n\t\"agent_servers\": {\n\t\t\"x\": {\n\t\t\t\"command\": \"c\"\n\t\t}\n\t},\n}\n// after\n",
	},
	{
		"a comment behind a last member without a comma",
		"{\n    \"a\": 1 // one\n}",
		"{\n    \"a\": 1, // one\n    \"agent_servers\": {\n        \"x\": {\n            \"command\": \"c\"\n        }\n    }\n}",
	},
	{"on one line", `{"a":1}`, "{\"a\":1,\n  \"agent_servers\": {\n    \"x\": {\n      \"command\": \"c\"\n    }\n  }\n}"},
	{
		"beside another agent",
		"{\n  \"agent_servers\": {\n    \"y\": {\"command\": \"d\"}, // yes\n  },\n  \"b\": {\"x\": 2}\n}\n",
		"{\n  \"agent_servers\": {\n    \"y\": {\"command\": \"d\"}, // yes\n    \"x\": {\n      \"command\": \"c\"\n    },\n  },\n  \"b\": {\"x\": 2}\n}\n",
	},
	{
		"in place of an older entry",
		"{\n  \"agent_servers\": {\n    \"x\": {\"command\": /* old */ \"d\"}, // mine\n    \"y\": {}\n  }\n}\n",
		"{\n  \"agent_servers\": {\n    \"x\": {\n      \"command\": \"c\"\n    }, // mine\n    \"y\": {}\n  }\n}\n",
	},
	{"the same entry, written otherwise", "{\"agent_servers\": {\"x\": { \"command\" : \"\\u0063\" }}}", "{\"agent_servers\": {\"x\": { \"command\" : \"\\u0063\" }}}"},
	{"Windows line ends", "{\r\n  \"a\": 1\r\n}\r\n", "{\r\n  \"a\": 1,\r\n  \"agent_servers\": {\r\n    \"x\": {\r\n      \"command\": \"c\"\r\n    }\r\n  }\r\n}\r\n"},
	{"an empty object with a comment in it", "{\n  // nothing\n}\n", "{\n  // nothing\n  \"agent_servers\": {\n    \"x\": {\n      \"command\": \"c\"\n    }\n  }\n}\n"},
	{"braces and slashes in strings", `{"u": "http://x/}\"//", "v": "/*"}`, "{\"u\": \"http://x/}\\\"//\", \"v\": \"/*\",\n  \"agent_servers\": {\n    \"x\": {\n      \"command\": \"c\"\n    }\n  }\n}"},
	{"of two keys of that name the last counts", `{"agent_servers": 1, "agent_servers": {"x": 2}}`, "{\"agent_servers\": 1, \"agent_servers\": {\"x\": {\n      \"command\": \"c\"\n    }}}"},
	{"a byte order mark", "\ufeff{}", "\ufeff{\n  \"agent_servers\": {\n    \"x\": {\n      \"command\": \"c\"\n    }\n  }\n}"},
}

func TestSetMember(t *testing.T) {
	path, value := []string{"agent_servers", "x"}, map[string]any{"command": "c"}
	for _, c := range setMemberCases {
		got, err := setMember([]byte(c.in), path, value)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		again, err := setMember(got, path, value)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s: a second time changes it to %q, %v", c.name, again, err)
		}
	}
}

// A file that is not understood is left alone, and the place is named.
func TestSetMemberRefuses(t *testing.T) {
	for in, want := range map[string]string{
		`[]`:                          "1:1: an object is wanted here",
		"{\n  \"a\": }":               "2:8: a value is wanted here",
		`{"a": 1 "b": 2}`:             "1:9: a comma or } is wanted here",
		`{"a" 1}`:                     "1:6: a colon is wanted here",
		`{a: 1}`:                      "1:2: a string is wanted here",
		`{"a": [1 2]}`:                "1:10: a comma or ] is wanted here",
		`{"a": tru}`:                  "1:7: a value is wanted here",
		`{"a": "b`:                    "1:7: this string has no end",
		"{/* x":                       "1:2: this comment has no end",
		`{} {}`:                       "1:4: nothing may follow",
		`{"agent_servers": []}`:       `1:19: "agent_servers" is not an object`,
		`{`:                           "a string is wanted here",
		strings.Repeat(`{"a":`, 1000): "more than 256 levels",
	} {
		if got, err := setMember([]byte(in), []string{"agent_servers", "x"}, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("setMember(%.40q) = %q, %v; want an error with %q", in, got, err, want)
		}
	}
}

// Whatever is accepted stays as it was beside the entry, and the entry is there.
func FuzzSetMember(f *testing.F) {
	for _, c := range setMemberCases {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		path := []string{"agent_servers", "x"}
		out, err := setMember(in, path, map[string]any{"command": "c"})
		if err != nil {
			return
		}
		again, err := setMember(out, path, map[string]any{"command": "c"})
		if err != nil || string(again) != string(out) {
			t.Fatalf("from %q: %q is set to %q, %v", in, out, again, err)
		}
		// Plain JSON has a second reader, which has to agree.
		var before, after map[string]any
		if json.Unmarshal(in, &before) != nil {
			return
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("from %q: %q is no JSON any more: %v", in, out, err)
		}
		servers, _ := after["agent_servers"].(map[string]any)
		if diff := cmp.Diff(map[string]any{"command": "c"}, servers["x"]); diff != "" {
			t.Fatalf("from %q: %q (-want +got)\n%s", in, out, diff)
		}
		delete(before, "agent_servers")
		delete(after, "agent_servers")
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("from %q: %q changes other settings (-before +after)\n%s", in, out, diff)
		}
	})
}
