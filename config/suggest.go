package config

import (
	"fmt"
	"slices"
	"strings"
)

// unknown is the message for a key or table that there is none of: the table where
// it belongs, or the nearest known one; all that are allowed where that is too far to
// have been meant.
func unknown(what, name, where string, known []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "unknown %s %s", what, quote(name))
	if where != "" {
		fmt.Fprintf(&b, " in %s", where)
	}
	if home := homeOf(name, known); home != "" {
		fmt.Fprintf(&b, ": it belongs in %s", home)
		return b.String()
	}
	near, edits := nearest(name, known)
	if edits <= max(2, len(name)/2) {
		fmt.Fprintf(&b, ": did you mean %q?", near)
		return b.String()
	}
	fmt.Fprintf(&b, ": the nearest is %q (known: %s)", near, strings.Join(known, ", "))
	return b.String()
}

// homeOf is the table that has a key of just this name, unless it is the one
// whose keys are known.
func homeOf(name string, known []string) string {
	for _, s := range sections {
		if _, ok := s.key(name); !ok || slices.Equal(s.names(), known) {
			continue
		}
		switch {
		case s.placed:
			return "[" + s.name + `."/"]`
		case s.array:
			return "[[" + s.name + "]]"
		}
		return "[" + s.name + "]"
	}
	return ""
}

// nearest is the known name with the fewest edits, case not counted, and how
// many it takes; the first of equals.
func nearest(name string, known []string) (near string, edits int) {
	if len(name) > maxShownBytes {
		name = name[:maxShownBytes]
	}
	name = strings.ToLower(name)
	for _, k := range known {
		if d := distance(name, strings.ToLower(k)); near == "" || d < edits {
			near, edits = k, d
		}
	}
	return near, edits
}

// distance counts insertions, deletions and replacements of bytes from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
