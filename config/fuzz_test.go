package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"sidetask/scope"
)

// FuzzLoad: never a panic, never a silent default, and every error is at a
// place in the file.
func FuzzLoad(f *testing.F) {
	for _, c := range badFiles {
		f.Add([]byte(c.file))
	}
	f.Add([]byte(everyKey))
	f.Add(Commented())
	f.Add([]byte("mounts = { \"/\" = { waitTimeoutMs = 5, }, # TOML 1.1\n '/x' = {} }\npolicy = [ { run = [ '/a', # c\n \"\"\"b\"\"\" ] } ]\r\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s, origins, err := parse("f", src)
		if err != nil {
			checkErrors(t, src, err)
			if s != nil || origins != nil {
				t.Error("settings beside an error")
			}
			return
		}
		var tree map[string]any
		if _, err := toml.Decode(string(src), &tree); err != nil {
			t.Fatalf("loaded what is no TOML: %v", err)
		}
		said := 0
		count(tree, &said)
		got := 0
		for _, setting := range List(s, origins) {
			if !strings.HasPrefix(setting.Origin, "f:") {
				continue
			}
			got++
			if want := saidFor(tree, setting.Key); !reflect.DeepEqual(want, asTOML(setting.Value)) {
				t.Errorf("%s = %v, the file says %v", setting.Key, setting.Value, want)
			}
		}
		if got != said {
			t.Errorf("%d settings come from the file, it says %d", got, said)
		}
	})
}

func checkErrors(t *testing.T, src []byte, err error) {
	var all Errors
	if !errors.As(err, &all) || len(all) == 0 {
		t.Fatalf("the error is %#v, want Errors", err)
	}
	lines := strings.Split(strings.TrimPrefix(string(src), "\ufeff"), "\n")
	for _, e := range all {
		if e.File != "f" || e.Line < 1 || e.Line > len(lines) || e.Col < 1 || e.Col > utf8.RuneCountInString(lines[e.Line-1])+1 {
			t.Errorf("%v is nowhere in the file", e)
		}
		if e.Message == "" || strings.Contains(e.Message, "\n") || len(e.Message) > 2000 {
			t.Errorf("the message %q is not one line", e.Message)
		}
	}
}

// count counts the values that are no tables.
func count(v any, n *int) {
	switch v := v.(type) {
	case map[string]any:
		for _, one := range v {
			count(one, n)
		}
	case []map[string]any:
		for _, one := range v {
			count(one, n)
		}
	case []any:
		tables := len(v) > 0
		for _, one := range v {
			_, isTable := one.(map[string]any)
			tables = tables && isTable
		}
		if !tables {
			*n++
			return
		}
		for _, one := range v {
			count(one, n)
		}
	default:
		*n++
	}
}

// saidFor finds in a decoded file what a key of List means.
func saidFor(tree map[string]any, key string) any {
	table, name, _ := strings.Cut(key, ".")
	if table == "mounts" {
		i := strings.LastIndexByte(name, '.')
		for at, mount := range tree["mounts"].(map[string]any) {
			if mountKey(scope.Path(at), name[i+1:]) == key {
				return mount.(map[string]any)[name[i+1:]]
			}
		}
		return nil
	}
	if strings.HasPrefix(table, "policy[") {
		i := 0
		for _, c := range table[len("policy[") : len(table)-1] {
			i = i*10 + int(c-'0')
		}
		switch policies := tree["policy"].(type) {
		case []map[string]any:
			return policies[i][name]
		case []any:
			return policies[i].(map[string]any)[name]
		}
		return nil
	}
	return tree[table].(map[string]any)[name]
}

func asTOML(v any) any {
	list, ok := v.([]string)
	if !ok {
		return v
	}
	values := make([]any, len(list))
	for i, s := range list {
		values[i] = s
	}
	return values
}

// FuzzLocate: whatever the library takes for TOML, each of its keys is found,
// and where it is said to be its name begins.
func FuzzLocate(f *testing.F) {
	for _, c := range badFiles {
		f.Add(c.file)
	}
	f.Add(everyKey)
	f.Add("a.\"b\\u0041\\\"\".'c' = [ 1, {x = 1, y.z = [[], {}]}, \"\"\"\\\"\"\"\"\"\" , ''''''''\n]\n[[a.d]]\nk=1\n[[a.d.e]]\n[a.d.e.f]\n[[a.d]]\nk=1979-05-27 07:32:00 # x\n")
	f.Fuzz(func(t *testing.T, src string) {
		root, deep, ok := locate(src)
		if !ok {
			if deep < 0 || deep > len(src) {
				t.Errorf("too deep at %d of %d", deep, len(src))
			}
			return
		}
		var tree map[string]any
		if _, err := toml.Decode(src, &tree); err != nil || strings.HasPrefix(src, "\ufeff") {
			return
		}
		found(t, src, root, tree)
	})
}

func found(t *testing.T, src string, n *node, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, one := range v {
			kid := n.kid(name)
			if kid == nil {
				t.Errorf("%q is not found in %q", name, src)
				continue
			}
			rest := src[kid.offset:]
			if !strings.HasPrefix(rest, name) && !strings.HasPrefix(rest, `"`) && !strings.HasPrefix(rest, "'") {
				t.Errorf("%q is said to begin at %q", name, rest)
			}
			found(t, src, kid, one)
		}
	case []map[string]any:
		for i, one := range v {
			if n.item(i) == nil {
				t.Errorf("item %d is not found in %q", i, src)
				continue
			}
			found(t, src, n.item(i), one)
		}
	case []any:
		for i, one := range v {
			if n.item(i) == nil {
				t.Errorf("item %d is not found in %q", i, src)
				continue
			}
			found(t, src, n.item(i), one)
		}
	}
}
