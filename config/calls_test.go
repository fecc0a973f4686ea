package config

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sidetask/rpc"
	"sidetask/rpc/client"
	"sidetask/scope"
)

// versionSeen is the version that one answer to config/get tells of; -1 for a mix.
func versionSeen(r rpc.ConfigGetResult) int {
	seen := make(map[string]int)
	for _, s := range r.Settings {
		if n, err := strconv.Atoi(string(s.Value)); err == nil {
			seen[s.Key] = n
		}
	}
	return versionOf(&Settings{
		Limits:    Limits{MaxConnections: int64(seen["limits.maxConnections"])},
		Retention: Retention{Tasks: int64(seen["retention.tasks"])},
		Mounts:    map[scope.Path]Mount{"/": {MaxConsecutiveWakes: int64(seen[`mounts."/".maxConsecutiveWakes`])}},
	})
}

// callsSeeOneWholeFile: random edits by random ways of saving while clients call. No
// call ever sees a mix or a version that never stood in a valid, whole file.
func callsSeeOneWholeFile(t *testing.T, bin string) {
	d := startDaemon(t, bin, version(2000), "/")
	w := &writer{disk: disk{t, filepath.Dir(d.config)}, n: 2000} // maxConnections of the daemon, too: not too few
	w.latest.Store(2000)
	told := make(chan bool, 100000)
	c := d.dial(filepath.Dir(d.config)+"/s", func(_ context.Context, _ *client.Client, method string, _ json.RawMessage) (any, error) {
		if method == rpc.NotifyConfigChanged {
			told <- true
		}
		return nil, nil
	})
	d.must(c, rpc.MethodConfigSubscribe, rpc.Empty{}, nil)
	look := func(c *client.Client) (int, error) {
		var now rpc.ConfigGetResult
		if err := c.Call(d.ctx, rpc.MethodConfigGet, rpc.Empty{}, &now); err != nil {
			return 0, err
		}
		n := versionSeen(now)
		if latest := int(w.latest.Load()); n < 0 || n > latest {
			return n, fmt.Errorf("version %d is seen; the newest valid one is %d", n, latest)
		}
		return n, nil
	}
	stop := make(chan bool)
	var wg sync.WaitGroup
	for _, caller := range []*client.Client{d.operator, d.host} {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := look(caller); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer wg.Wait()
	defer close(stop)
	var slowest time.Duration
	rapid.Check(t, func(r *rapid.T) {
		for range rapid.IntRange(1, 8).Draw(r, "saves") {
			w.save(rapid.SampledFrom(savers).Draw(r, "way"), rapid.SampledFrom(kinds).Draw(r, "kind"))
		}
		w.save(rapid.SampledFrom(savers).Draw(r, "last way"), valid)
		began := time.Now()
		for {
			n, err := look(c)
			if err != nil {
				t.Fatal(err)
			}
			if n == w.n {
				break
			}
			select {
			case <-told:
			case <-d.ctx.Done():
				t.Fatalf("version %d never came into force", w.n)
			}
		}
		slowest = max(slowest, time.Since(began))
	})
	t.Logf("the slowest of all last saves was in force after %v", slowest)
}
