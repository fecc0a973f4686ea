package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// CheckArguments compares the arguments of a tool call with the tool's schema.
// The error of wrong ones has the form of BEHAVIOUR T117, without the "Error: ".
// Absent arguments (nil) are {}. Other properties than the schema's are accepted.
func CheckArguments(name string, args json.RawMessage) error {
	t, ok := find(name)
	if !ok {
		return fmt.Errorf("unknown tool %q", name)
	}
	given, ok := members(args)
	if !ok {
		return errors.New(`invalid arguments: "arguments" must be an object`)
	}
	var violations []string
	for _, p := range t.properties {
		if _, ok := given[p.name]; p.required && !ok {
			violations = append(violations, fmt.Sprintf("missing required property %q", p.name))
		}
	}
	for _, p := range t.properties {
		if value, ok := given[p.name]; ok && !p.accepts(value) {
			violations = append(violations, fmt.Sprintf("%q must be %s", p.name, p.wanted()))
		}
	}
	if len(violations) > 0 {
		return fmt.Errorf("invalid arguments: %s", strings.Join(violations, "; "))
	}
	return nil
}

// members are the arguments by their exact names; ok is false for anything but
// an object. (A struct would also take "Task_ID" for "task_id".)
func members(args json.RawMessage) (given map[string]json.RawMessage, ok bool) {
	if len(args) == 0 {
		return map[string]json.RawMessage{}, true
	}
	err := json.Unmarshal(args, &given)
	return given, err == nil && given != nil
}

// accepts reports whether the JSON value is of the property's type.
func (p property) accepts(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return false
	}
	switch p.kind {
	case "boolean":
		return value[0] == 't' || value[0] == 'f'
	case "number":
		return value[0] == '-' || value[0] >= '0' && value[0] <= '9'
	default:
		var s string
		return value[0] == '"' && json.Unmarshal(value, &s) == nil && (p.only == "" || s == p.only)
	}
}

// wanted names what the property must be.
func (p property) wanted() string {
	if p.only != "" {
		return fmt.Sprintf("%q", p.only)
	}
	return "a " + p.kind
}
