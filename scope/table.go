package scope

import "slices"

// Table keeps entries by scope; within a scope in the order they were added.
// It is not safe for concurrent use: the owner of a table has the lock.
type Table[T any] struct {
	layers map[Path][]*entry[T]
}

type entry[T any] struct{ value T }

// Add files a value at a scope and returns the function that takes just this
// entry out again; calling it twice does nothing more (BEHAVIOUR T90, T91).
func (t *Table[T]) Add(at Path, value T) (remove func()) {
	if t.layers == nil {
		t.layers = make(map[Path][]*entry[T])
	}
	e := &entry[T]{value}
	t.layers[at] = append(t.layers[at], e)
	return func() {
		layer := t.layers[at]
		i := slices.Index(layer, e)
		if i < 0 {
			return
		}
		// A copy, so that a caller who ranges over the old layer is not disturbed.
		layer = slices.Concat(layer[:i], layer[i+1:])
		if len(layer) == 0 {
			delete(t.layers, at)
			return
		}
		t.layers[at] = layer
	}
}

// Nearest is the newest entry of the nearest scope on the chain of p that has
// any, and that scope.
func (t *Table[T]) Nearest(p Path) (value T, at Path, ok bool) {
	for _, at := range p.Chain() {
		if layer := t.layers[at]; len(layer) > 0 {
			return layer[len(layer)-1].value, at, true
		}
	}
	return value, "", false
}

// At lists the entries filed at exactly p, in the order they were added.
func (t *Table[T]) At(p Path) []T {
	var values []T
	for _, e := range t.layers[p] {
		values = append(values, e.value)
	}
	return values
}
