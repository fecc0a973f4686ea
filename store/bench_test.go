package store

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"sidetask/registry"
	"sidetask/scope"
)

// nothing is a producer whose work does nothing.
type nothing struct{}

func (nothing) Cancel(context.Context, registry.Row, *string) error { return nil }

func (nothing) Read(registry.Row, registry.ReadRequest) (registry.Reading, error) {
	return registry.Reading{}, nil
}

func (nothing) Tail(context.Context, registry.Row, registry.TailRequest) (registry.Tailed, error) {
	return registry.Tailed{}, nil
}

func (nothing) Match(context.Context, registry.Row, int64, *regexp.Regexp) error { return nil }

func (nothing) Write(context.Context, registry.Row, registry.WriteRequest) (int, error) {
	return 0, nil
}

func (nothing) EndLeftovers(registry.Row) (int, error) { return 0, nil }

func (nothing) Facts(rows ...registry.Row) []registry.Facts { return make([]registry.Facts, len(rows)) }

func (nothing) Remove(registry.Row) (int64, error) { return 0, nil }

type nobody struct{}

func (nobody) Pending(registry.Handle, int, string) {}

func (nobody) Lost(registry.Handle) {}

// finished is a store with n finished tasks of a hundred owners.
func finished(n int) registry.Change {
	c := registry.Change{Counters: map[string]int64{"bash": int64(n)}, NextRow: registry.Row(n + 1), NextOwner: 101}
	for i := range 100 {
		h := registry.Handle(fmt.Sprintf("o-%d", i+1))
		c.Owners = append(c.Owners, registry.OwnerRecord{Handle: h, Agent: "agent", Session: fmt.Sprint(i + 1), Scope: scope.Root})
	}
	for i := 1; i <= n; i++ {
		c.Tasks = append(c.Tasks, registry.Record{
			Task: registry.Task{
				Row: registry.Row(i), ID: fmt.Sprintf("bash-%d", i), Kind: "bash", Label: "go test ./...", Owner: c.Owners[i%100].Handle,
				Scope: scope.Root, Producer: "nothing", Status: registry.Completed, StartedAt: 1, FinishedAt: 2, Reported: i%2 == 0,
			},
			Registered: int64(i), Ended: int64(i), Notice: registry.Waiting,
		})
		c.Log = append(c.Log, registry.LogEntry{Seq: int64(i), Row: registry.Row(i), Status: registry.Completed, FinishedAt: 2})
	}
	return c
}

// BenchmarkFinished is the table's T25: with 10 000 and 100 000 finished tasks
// in the store a start, a list of one owner and a settlement cost no more than
// 1.5 times what they do with none.
func BenchmarkFinished(b *testing.B) {
	for _, n := range []int{0, 10_000, 100_000} {
		s := open(b, filepath.Join(b.TempDir(), "sidetask.db"))
		if err := s.Commit(finished(n)); err != nil {
			b.Fatal(err)
		}
		r, err := registry.Open(registry.Options{
			Store: s, Limit: func() int64 { return 1 << 40 }, Serves: func(scope.Path) bool { return true },
			Grace: func() registry.Grace { return registry.Grace{Owner: time.Hour} },
		})
		if err != nil {
			b.Fatal(err)
		}
		r.AddProducer("nothing", nothing{})
		h, err := r.Register(registry.Registration{Token: "token-of-the-owner", Agent: "agent", Session: "1"}, nobody{})
		if err != nil {
			b.Fatal(err)
		}
		c := registry.AsOwner(h)
		start := func() registry.Task {
			task, err := r.Start(context.Background(), c, registry.Spec{Kind: "bash", Label: "x", Producer: "nothing"}, func(registry.Row) error { return nil })
			if err != nil {
				b.Fatal(err)
			}
			return task
		}
		var live []registry.Task
		b.Run(fmt.Sprintf("start/%d", n), func(b *testing.B) {
			for b.Loop() {
				live = append(live, start())
			}
		})
		b.Run(fmt.Sprintf("settle/%d", n), func(b *testing.B) {
			for b.Loop() {
				if len(live) == 0 {
					b.StopTimer()
					for range 1000 {
						live = append(live, start())
					}
					b.StartTimer()
				}
				r.Settle(live[0].Row, registry.Outcome{Status: registry.Completed})
				live = live[1:]
			}
		})
		for _, task := range live[min(5, len(live)):] {
			r.Settle(task.Row, registry.Outcome{Status: registry.Completed})
		}
		b.Run(fmt.Sprintf("list/%d", n), func(b *testing.B) {
			for b.Loop() {
				r.List(c, false)
			}
		})
		r.Shutdown(context.Background(), false)
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
