package registry

import (
	"fmt"
	"testing"
)

// crowded is a world with n finished tasks, of one owner and of a hundred
// others.
func crowded(b *testing.B, n int) (*world, Caller) {
	w := newWorld(b)
	w.limit = 1 << 30
	h := w.owner("busy")
	var others []Handle
	for i := range 100 {
		others = append(others, w.owner(fmt.Sprint(i)))
	}
	for i := range n {
		owner := h
		if i%2 == 0 {
			owner = others[i%len(others)]
		}
		w.end(w.start(AsOwner(owner)))
	}
	return w, AsOwner(h)
}

// The cost of a call must not grow with the finished tasks that are kept
// (table, T25): at most 1.5 times that of an empty registry. The store's part
// is measured in package store.
func benchmark(b *testing.B, do func(w *world, c Caller)) {
	for _, n := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, c := crowded(b, n)
			for range 5 {
				w.start(c)
			}
			for b.Loop() {
				do(w, c)
			}
		})
	}
}

func BenchmarkStartAndSettle(b *testing.B) {
	benchmark(b, func(w *world, c Caller) { w.end(w.start(c)) })
}

func BenchmarkList(b *testing.B) {
	benchmark(b, func(w *world, c Caller) { w.List(c, false) })
}
