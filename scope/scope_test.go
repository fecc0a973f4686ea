package scope

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, ok := range []string{"/", "/review", "/review/strict", "/ünï"} {
		if p, err := Parse(ok); err != nil || string(p) != ok {
			t.Errorf("Parse(%q) = %q, %v; want it as it is", ok, p, err)
		}
	}
	for _, bad := range []string{"", "review", "//", "/a/", "/a//b", "/.", "/a/..", "/a b", "/a\n", "/\x7f", "/\xff", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q"} {
		if p, err := Parse(bad); err == nil {
			t.Errorf("Parse(%q) = %q; want an error", bad, p)
		}
	}
}

func TestChain(t *testing.T) {
	want := []Path{"/review/strict", "/review", "/"}
	if diff := cmp.Diff(want, Path("/review/strict").Chain()); diff != "" {
		t.Error(diff)
	}
	if got := Root.Chain(); !slices.Equal(got, []Path{"/"}) {
		t.Errorf("Root.Chain() = %v", got)
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		p, q Path
		want bool
	}{{"/", "/x", true}, {"/x", "/x", true}, {"/x", "/x/y", true}, {"/x", "/xy", false}, {"/x/y", "/x", false}} {
		if got := c.p.Contains(c.q); got != c.want {
			t.Errorf("%q.Contains(%q) = %v, want %v", c.p, c.q, got, c.want)
		}
	}
}

// TestTable pins BEHAVIOUR T87, T90 and T91: within a scope the order of adding;
// a scope's entries are its own alone.
func TestTable(t *testing.T) {
	var table Table[string]
	table.Add("/a/b", "own")
	table.Add("/a", "mid 1")
	removeMid := table.Add("/a", "mid 2")
	table.Add("/", "root")
	table.Add("/sibling", "sibling")
	table.Add("/a/b/c", "descendant")
	if diff := cmp.Diff([]string{"mid 1", "mid 2"}, table.At("/a")); diff != "" {
		t.Error(diff)
	}
	removeMid()
	removeMid() // idempotent, T90
	if diff := cmp.Diff([]string{"mid 1"}, table.At("/a")); diff != "" {
		t.Error(diff)
	}
	if v, at, ok := table.Nearest("/a/x"); v != "mid 1" || at != "/a" || !ok {
		t.Errorf("Nearest(/a/x) = %q, %q, %v", v, at, ok)
	}
	var empty Table[string]
	if _, _, ok := empty.Nearest("/a"); ok {
		t.Error("an empty table has no nearest entry")
	}
}
