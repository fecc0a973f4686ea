package producer

import (
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"sidetask/registry"
)

// TestMatchGathers: of many small pieces the text is looked at together, a little
// later; each look goes through 64 KiB and more.
func TestMatchGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const row = registry.Row(1)
		o := &Outside{dir: t.TempDir(), works: make(map[registry.Row]*work)}
		w := &work{dir: o.folder(row), meta: meta{Stream: true}, changed: make(chan struct{})}
		o.works[row] = w
		if err := errors.Join(w.begin(), w.append("re", roomy)); err != nil {
			t.Fatal(err)
		}
		matched := make(chan error, 1)
		go func() { matched <- o.Match(t.Context(), row, 0, regexp.MustCompile("rea*dy")) }()
		synctest.Wait()
		begun := time.Now()
		for _, piece := range []string{"a", "a", "dy"} {
			if err := w.append(piece, roomy); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if err := <-matched; err != nil || time.Since(begun) != gather {
			t.Errorf("matched after %v, %v; want %v", time.Since(begun), err, gather)
		}
		if err := w.finish(); err != nil {
			t.Error(err)
		}
	})
}
