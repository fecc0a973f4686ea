package client

import (
	"strconv"
	"strings"
)

// Newer reports whether the daemon is of an older release than this program:
// then `sidetask daemon restart` is what to do. Versions without an order
// (builds of a working copy) are never newer.
func Newer(program, daemon string) bool {
	a, okA := release(program)
	b, okB := release(daemon)
	if !okA || !okB {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return a[i] > b[i]
		}
	}
	return false
}

// release is the three numbers of v1.2.3; what follows - or + is no release order.
func release(version string) (numbers [3]int, ok bool) {
	version, tagged := strings.CutPrefix(version, "v")
	version, _, _ = strings.Cut(version, "+")
	version, _, _ = strings.Cut(version, "-")
	parts := strings.Split(version, ".")
	if !tagged || len(parts) != len(numbers) {
		return numbers, false
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return numbers, false
		}
		numbers[i] = n
	}
	return numbers, true
}
