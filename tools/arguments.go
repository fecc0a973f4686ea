package tools

import (
	"encoding/json"
	"strings"

	"sidetask/render"
)

// arguments are the members of a call's arguments by their exact names: decoded
// once, so that what a policy is told is what is executed. nil where the
// arguments are no object, which the body refuses (T117).
type arguments map[string]json.RawMessage

// canonical decodes the arguments of a tool and gives them again as the one
// object that policies are told: each name once (of several the last counts),
// and none that is a name of the tool's schema in other letters, which a
// policy that is less exact might take for it. None and an empty text mean {}
// (T117). Other properties than the schema's stay (T111).
func canonical(tool string, raw json.RawMessage) (arguments, json.RawMessage) {
	if len(raw) == 0 || string(raw) == `""` {
		return arguments{}, json.RawMessage("{}")
	}
	var given arguments
	if json.Unmarshal(raw, &given) != nil || given == nil {
		return nil, raw
	}
	names := schemaNames[tool]
	for name := range given {
		for _, known := range names {
			if name != known && strings.EqualFold(name, known) { // encoding/json folds so, too
				delete(given, name)
			}
		}
	}
	return given, encodeValue(given)
}

// schemaNames are the properties of each tool.
var schemaNames = func() map[string][]string {
	names := make(map[string][]string)
	for _, tool := range render.Tools() {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		_ = json.Unmarshal(tool.InputSchema, &schema) // our own
		for name := range schema.Properties {
			names[tool.Name] = append(names[tool.Name], name)
		}
	}
	return names
}()

// text is a text among the arguments; "" where there is none.
func (a arguments) text(name string) (s string) {
	if json.Unmarshal(a[name], &s) != nil {
		return "" // the body has its arguments checked; who looks earlier finds nothing
	}
	return s
}

// flag is a boolean among the arguments.
func (a arguments) flag(name string) (b bool) {
	return json.Unmarshal(a[name], &b) == nil && b
}
