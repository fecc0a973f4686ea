package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		in, want string
		members  []Member
	}{
		{`{}`, `{"a":1}`, []Member{{"a", []byte("1")}}},
		{`{ }`, `{"a":1,"b":2 }`, []Member{{"a", []byte("1")}, {"b", []byte("2")}}},
		{`{"x":0}`, `{"a":1,"x":0}`, []Member{{"a", []byte("1")}}},
		{`{"x":1.0, "a" : 0 }`, `{"x":1.0, "a" : 1 }`, []Member{{"a", []byte("1")}}},
		{`{"a":0,"x":0,"a":0}`, `{"a":1,"x":0,"a":1}`, []Member{{"a", []byte("1")}}},
		{`{"a":0,"x":0}`, `{"x":0}`, []Member{{"a", nil}}},
		{`{"x":0, "a":[{}] }`, `{"x":0 }`, []Member{{"a", nil}}},
		{`{"a":0}`, `{}`, []Member{{"a", nil}}},
		{`{"a":0,"b":1,"x":2,"a":3,"b":4}`, `{"x":2}`, []Member{{"a", nil}, {"b", nil}}},
		{`{"a":0,"b":1}`, `{"c":9,"b":1}`, []Member{{"a", nil}, {"c", []byte("9")}}},
		{`{"a":0}`, `{"c":9}`, []Member{{"a", nil}, {"c", []byte("9")}}},
		{`{"x":0}`, `{"x":0}`, []Member{{"a", nil}}},
		{`{"\u0061":0}`, `{"\u0061":1}`, []Member{{"a", []byte("1")}}},
	} {
		b := []byte(c.in)
		if got := string(Splice(b, Set(b, Span{0, len(b)}, c.members...)...)); got != c.want {
			t.Errorf("Set(%s, %v) = %s, want %s", c.in, c.members, got, c.want)
		}
		if string(b) != c.in {
			t.Errorf("Set wrote to the line it was given: %s", b)
		}
	}
}

func TestArrays(t *testing.T) {
	for _, c := range []struct{ in, front, back string }{
		{`[]`, `[9]`, `[9]`},
		{`[ ]`, `[9 ]`, `[ 9]`},
		{`[1, 2 ]`, `[9,1, 2 ]`, `[1, 2 ,9]`},
	} {
		b := []byte(c.in)
		all := Span{0, len(b)}
		if got := string(Splice(b, Prepend(b, all, []byte("9")))); got != c.front {
			t.Errorf("Prepend(%s) = %s, want %s", c.in, got, c.front)
		}
		if got := string(Splice(b, Append(b, all, []byte("9")))); got != c.back {
			t.Errorf("Append(%s) = %s, want %s", c.in, got, c.back)
		}
	}
}

// FuzzSet: the result, parsed, is the parsed input with just the edit.
func FuzzSet(f *testing.F) {
	f.Add([]byte(`{"title":"a","kind":"b","content":[1],"x":{}}`), "title", "new", true)
	f.Add([]byte(`{"content":1,"content":2}`), "a", "", false)
	f.Add([]byte(` {"a\n":0 , "b":[ ] } `), "a\n", "v", true)
	f.Fuzz(func(t *testing.T, line []byte, name, value string, remove bool) {
		var want map[string]any
		if !valid(line, &want) || want == nil || !utf8(name) || !utf8(value) {
			return
		}
		members := []Member{{Name: name, Value: Quote(value)}, {Name: "zz", Value: []byte("1")}}
		want[name], want["zz"] = value, json.Number("1")
		if remove && name != "content" && name != "zz" {
			members = append(members, Member{Name: "content"})
			delete(want, "content")
		}
		if name == "zz" {
			return
		}
		from := skipSpace(line, 0)
		out := Splice(line, Set(line, Span{from, len(bytes.TrimRight(line, " \t\r\n"))}, members...)...)
		var got map[string]any
		if !valid(out, &got) {
			t.Fatalf("%q became %q, which is no JSON", line, out)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q became %q: %v, want %v", line, out, got, want)
		}
	})
}

func valid(b []byte, into any) bool {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return json.Valid(b) && dec.Decode(into) == nil
}

// utf8 reports whether a text comes back as it was through JSON.
func utf8(s string) bool { return String(Quote(s)) == s }
