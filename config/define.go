package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"sidetask/scope"
)

// definition is one key of the file. Everything that is said of a key, in
// errors, in the commented file and in docs/config.md, comes from here.
type definition struct {
	name     string
	fallback any // the default: int64, bool, string or []string; nil = the key must be written
	min, max int64
	choices  []string       // of a text; empty = any that check lets pass
	check    func(any) bool // what choices, min and max cannot say; may be nil
	allowed  string         // what a value may be, in words
	own      bool           // of a mount: never inherited
	doc      string
	field    func(target) any // pointer to where the value goes
}

// target is where the values of one table go; the one that fits is set.
type target struct {
	settings *Settings
	mount    *Mount
	policy   *Policy
}

// section is one table of the file.
type section struct {
	name   string
	placed bool // one table per scope: [mounts."/x"]
	array  bool // [[policy]]
	doc    string
	keys   []definition
}

func (s section) key(name string) (definition, bool) {
	i := slices.IndexFunc(s.keys, func(d definition) bool { return d.name == name })
	if i < 0 {
		return definition{}, false
	}
	return s.keys[i], true
}

func (s section) names() []string {
	names := make([]string, len(s.keys))
	for i, d := range s.keys {
		names[i] = d.name
	}
	return names
}

func sectionNamed(name string) (section, bool) {
	i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
	if i < 0 {
		return section{}, false
	}
	return sections[i], true
}

func sectionNames() []string {
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.name
	}
	return names
}

func whole(name string, fallback, least, most int64, unit string, field func(target) any, doc string) definition {
	allowed := "a whole number"
	if unit != "" {
		allowed += " of " + unit
	}
	return definition{
		name: name, fallback: fallback, min: least, max: most, field: field, doc: doc,
		allowed: fmt.Sprintf("%s, %d to %d", allowed, least, most),
	}
}

func toggle(name string, fallback bool, field func(target) any, doc string) definition {
	return definition{name: name, fallback: fallback, field: field, doc: doc, allowed: "true or false"}
}

func choice(name, fallback string, choices []string, field func(target) any, doc string) definition {
	return definition{name: name, fallback: fallback, choices: choices, field: field, doc: doc, allowed: oneOf(choices)}
}

func oneOf(choices []string) string {
	quoted := make([]string, len(choices))
	for i, c := range choices {
		quoted[i] = strconv.Quote(c)
	}
	last := len(quoted) - 1
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// text is any other text or list of texts; check gets a value of the type of
// like, and allowed says what it lets pass.
func text(name string, fallback any, check func(any) bool, allowed string, field func(target) any, doc string) definition {
	return definition{name: name, fallback: fallback, check: check, allowed: allowed, field: field, doc: doc}
}

// accept gives the value as the key's own type, or ok false where it is none
// that the key allows. The value is as the TOML library decodes it.
func (d definition) accept(value any) (typed any, ok bool) {
	switch d.field(target{new(Settings), new(Mount), new(Policy)}).(type) {
	case *int64:
		n, isInt := value.(int64)
		return n, isInt && n >= d.min && n <= d.max && (d.check == nil || d.check(n))
	case *bool:
		b, isBool := value.(bool)
		return b, isBool
	case *string, *scope.Path:
		s, isText := value.(string)
		if !isText || strings.ContainsRune(s, 0) {
			return nil, false
		}
		if d.check != nil {
			return s, d.check(s)
		}
		return s, slices.Contains(d.choices, s)
	case *[]string:
		list, isList := value.([]any)
		if !isList {
			return nil, false
		}
		texts := make([]string, len(list))
		for i, one := range list {
			s, isText := one.(string)
			if !isText || strings.ContainsRune(s, 0) {
				return nil, false
			}
			texts[i] = s
		}
		return texts, d.check(texts)
	}
	return nil, false
}

// put stores a value that accept gave, or a default.
func (d definition) put(t target, value any) {
	switch p := d.field(t).(type) {
	case *int64:
		*p = value.(int64)
	case *bool:
		*p = value.(bool)
	case *string:
		*p = value.(string)
	case *scope.Path:
		*p = scope.Path(value.(string))
	case *[]string:
		*p = slices.Clone(value.([]string))
	}
}

// get is the value that stands in the field.
func (d definition) get(t target) any {
	switch p := d.field(t).(type) {
	case *int64:
		return *p
	case *bool:
		return *p
	case *string:
		return *p
	case *scope.Path:
		return string(*p)
	case *[]string:
		return slices.Clone(*p)
	}
	return nil
}

// show prints a value for a message, bounded and on one line: as it is written
// where the file has it at a node, which is nil for what comes from no file.
func show(value any, at *node) string {
	if text := at.written(); text != "" {
		return cut(text)
	}
	switch v := value.(type) {
	case string:
		return quote(v)
	case float64:
		switch {
		case math.IsNaN(v):
			return "nan"
		case math.IsInf(v, 0):
			return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))
		}
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0" // a float is not taken for a whole number: show which it is
		}
		return s
	case int64, bool:
		return fmt.Sprint(v)
	case []any:
		parts := make([]string, 0, min(len(v), maxShownItems))
		for i, one := range v {
			if i == maxShownItems {
				parts = append(parts, "...")
				break
			}
			if _, nested := one.([]any); nested {
				parts = append(parts, "a list")
				continue
			}
			parts = append(parts, show(one, at.item(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []map[string]any:
		return "an array of tables"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

const (
	maxShownItems = 5
	maxShownBytes = 80
)

// cut ends a text at a length that fits a message.
func cut(s string) string {
	if len(s) <= maxShownBytes {
		return s
	}
	return s[:maxShownBytes] + "..."
}

// quote quotes a text of the file, cut at a length that fits a message.
func quote(s string) string {
	if len(s) <= maxShownBytes {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:maxShownBytes], "")) + "..."
}
