package acp

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// schema is a published schema of ACP (testdata/schema, whose source and licence
// stand in it): all methods of a version and the shapes of what they carry.
type schema struct {
	Source string
	Editor methods
	Agent  methods
	Defs   map[string]*shape
}

// methods are what one side sends: by name, the shapes of params and result.
type methods struct {
	Requests, Notices map[string]struct{ Params, Result string }
}

// shape is what of JSON Schema the published ones use; a keyword that is not
// here fails the test.
type shape struct {
	Ref        string `json:"$ref"`
	Type       any    // a name, or several
	Const      any
	Enum       []any
	Required   []string
	Properties map[string]*shape
	More       *shape   `json:"additionalProperties"`
	AllOf      []*shape `json:"allOf"`
	AnyOf      []*shape `json:"anyOf"`
	Items      *shape
	Minimum    *float64
	Maximum    *float64
	MinItems   int
	MinLength  int
	Format     string
}

func readSchema(t *testing.T, version int) *schema {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("testdata/schema/v%d.json", version))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	s := &schema{}
	if err := d.Decode(s); err != nil {
		t.Fatalf("%s: %v", f.Name(), err)
	}
	return s
}

// variants are the kinds of a union.
func (s *schema) variants(def string) []*shape { return s.Defs[def].AnyOf }

// kind is the word that tells a variant from the others; "" for the one that is
// for what no schema knows.
func (s *schema) kind(variant *shape, word string) string {
	if p := variant.Properties[word]; p != nil && p.Const != nil {
		return fmt.Sprint(p.Const)
	}
	return ""
}

// maker draws values that are valid by a schema.
type maker struct {
	*rapid.T
	*schema
}

// object draws an object of a shape, with these members as given, and others
// that no schema knows.
func (m maker) object(sh *shape, fixed map[string]string) string {
	got := map[string]string{}
	m.members(sh, 3, got)
	for name, value := range fixed {
		if value == "" {
			delete(got, name)
		} else {
			got[name] = value
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(got)) {
		all = append(all, strconv.Quote(name)+":"+got[name])
	}
	return object(m.T, all...)
}

// members draws those of an object: what is required, and some of the rest.
func (m maker) members(sh *shape, depth int, got map[string]string) {
	if sh.Ref != "" {
		m.members(m.def(sh.Ref), depth, got)
		return
	}
	for _, part := range sh.AllOf {
		m.members(part, depth, got)
	}
	if len(sh.AnyOf) > 0 {
		m.members(rapid.SampledFrom(sh.AnyOf).Draw(m.T, "variant"), depth, got)
	}
	for _, name := range slices.Sorted(maps.Keys(sh.Properties)) {
		if slices.Contains(sh.Required, name) || depth > 0 && rapid.IntRange(0, 2).Draw(m.T, "with "+name) == 0 {
			got[name] = m.value(sh.Properties[name], depth-1)
		}
	}
	if sh.More != nil && depth > 0 {
		got["more"] = m.value(sh.More, depth-1)
	}
}

func (m maker) def(name string) *shape {
	sh := m.Defs[name]
	if sh == nil {
		m.Fatalf("the schema has no %s", name)
	}
	return sh
}

func (m maker) value(sh *shape, depth int) string {
	switch {
	case sh.Ref != "":
		return m.value(m.def(sh.Ref), depth)
	case sh.Const != nil:
		return m.text(sh.Const)
	case len(sh.Enum) > 0:
		return m.text(rapid.SampledFrom(sh.Enum).Draw(m.T, "enum"))
	case len(sh.Properties)+len(sh.AllOf) > 0 || sh.More != nil:
		got := map[string]string{}
		m.members(sh, depth, got)
		var all []string
		for _, name := range slices.Sorted(maps.Keys(got)) {
			all = append(all, strconv.Quote(name)+":"+got[name])
		}
		return "{" + strings.Join(rapid.Permutation(all).Draw(m.T, "order"), ",") + "}"
	case len(sh.AnyOf) > 0:
		return m.value(m.variant(sh.AnyOf, depth), depth)
	case sh.Type == nil:
		return value(m.T, depth)
	}
	return m.plain(sh, depth)
}

// variant draws one of a union; where it goes deep, one that ends.
func (m maker) variant(of []*shape, depth int) *shape {
	for _, v := range of {
		if depth <= 0 && v.Type == "null" {
			return v
		}
	}
	return rapid.SampledFrom(of).Draw(m.T, "variant")
}

// plain draws a value of a type.
func (m maker) plain(sh *shape, depth int) string {
	name := sh.Type
	if several, ok := name.([]any); ok {
		name = rapid.SampledFrom(several).Draw(m.T, "type")
	}
	switch name {
	case "null":
		return "null"
	case "boolean":
		return rapid.SampledFrom([]string{"true", "false"}).Draw(m.T, "boolean")
	case "integer", "number":
		return m.number(sh, name == "number")
	case "string":
		return m.string(sh)
	case "array":
		var all []string
		for range max(sh.MinItems, rapid.IntRange(0, max(0, min(2, depth))).Draw(m.T, "items")) {
			all = append(all, m.value(sh.Items, depth-1))
		}
		return "[" + strings.Join(all, " ,") + "]"
	case "object":
		return "{}"
	}
	m.Fatalf("no generator for a value of type %v", sh.Type)
	return ""
}

func (m maker) number(sh *shape, fraction bool) string {
	low, high := -7, 65535
	if sh.Minimum != nil {
		low = int(*sh.Minimum)
	}
	if sh.Maximum != nil {
		high = int(*sh.Maximum)
	}
	n := strconv.Itoa(rapid.IntRange(low, high).Draw(m.T, "number"))
	if fraction && n != strconv.Itoa(high) {
		n += rapid.SampledFrom([]string{"", ".0", "e0", ".50"}).Draw(m.T, "fraction")
	}
	return n
}

func (m maker) string(sh *shape) string {
	from := []string{`"word"`, "\"a\u2028b\u2029\"", `"\u2028"`, `"\/compact"`, `"<b>&'"`, `"{\"id\":1}"`, "\"\u007f\U0001f600\""}
	switch sh.Format {
	case "":
		if sh.MinLength == 0 {
			from = append(from, `""`)
		}
	case "uri":
		from = []string{`"file:\/\/\/w"`, `"https://h/\u00e9"`}
	case "date-time":
		from = []string{`"2026-11-30T01:02:03Z"`}
	case "regex":
		from = []string{`"^a+$"`}
	default:
		m.Fatalf("no generator for a string of format %q", sh.Format)
	}
	return rapid.SampledFrom(from).Draw(m.T, "string")
}

func (m maker) text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		m.Fatal(err)
	}
	return string(raw)
}
