package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sidetask/registry"
	"sidetask/scope"
)

// more is a producer whose tasks always have one more byte.
type more struct{ nothing }

func (more) Read(_ registry.Row, req registry.ReadRequest) (registry.Reading, error) {
	return registry.Reading{Next: req.From + 1}, nil
}

// BenchmarkCursor: a read that moves the cursor, of tasks with a short and with a
// long label, and how much goes to the log of the database for it.
func BenchmarkCursor(b *testing.B) {
	for _, label := range []int{20, 100_000} {
		b.Run(fmt.Sprintf("label-%d", label), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "sidetask.db")
			r, err := registry.Open(registry.Options{
				Store: open(b, path), Limit: func() int64 { return 10 }, Serves: func(scope.Path) bool { return true },
				Grace: func() registry.Grace { return registry.Grace{Owner: time.Hour} },
			})
			if err != nil {
				b.Fatal(err)
			}
			r.AddProducer("more", more{})
			ctx, c := context.Background(), registry.AsOperator()
			task, err := r.Start(ctx, c, registry.Spec{Kind: "bash", Label: strings.Repeat("x", label), Producer: "more", Stream: true}, func(registry.Row) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
			read := func() {
				_, _, receipt, err := r.Read(ctx, c, task.ID, nil, false)
				if err != nil {
					b.Fatal(err)
				}
				receipt.Delivered()
			}
			before := size(b, path+"-wal")
			for range 10 {
				read()
			}
			logged := size(b, path+"-wal") - before
			for b.Loop() {
				read()
			}
			b.ReportMetric(float64(logged)/10, "wal-B/op")
			r.Shutdown(ctx, false)
			_ = r.Close()
		})
	}
}

func size(b testing.TB, path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
