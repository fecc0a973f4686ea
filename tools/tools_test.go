package tools

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetask/config"
	"sidetask/registry"
	"sidetask/scope"
	"sidetask/scripts/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// memory is a store that forgets.
type memory struct{}

func (memory) Load() (*registry.State, error) { return &registry.State{}, nil }
func (memory) Commit(registry.Change) error   { return nil }
func (memory) Close() error                   { return nil }

// bench is the tools with an owner and a producer of the test's own.
type bench struct {
	*Tools
	t      *testing.T
	owner  registry.Caller
	source *source
}

// host is a connection that hears nothing.
type host struct{ _ int }

func (*host) Pending(registry.Handle, int, string) {}
func (*host) Lost(registry.Handle)                 {}

// source gives the output that the test put there.
type source struct {
	registry.Producer
	registry *registry.Registry
	mu       sync.Mutex
	text     string
}

func (s *source) Cancel(context.Context, registry.Row, *string) error { return nil }
func (s *source) Facts(rows ...registry.Row) []registry.Facts {
	return make([]registry.Facts, len(rows))
}
func (s *source) EndLeftovers(registry.Row) (int, error) { return 0, nil }
func (s *source) Remove(registry.Row) (int64, error)     { return 0, nil }

func (s *source) Read(_ registry.Row, req registry.ReadRequest) (registry.Reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return registry.Reading{Text: s.text[min(int(req.From), len(s.text)):], Next: int64(len(s.text))}, nil
}

func (s *source) Start(ctx context.Context, c registry.Caller, command Command) (registry.Task, error) {
	return s.registry.Start(ctx, c, registry.Spec{
		Kind: "bash", Label: command.Label, OutputLimit: command.OutputLimit, Stream: true, Producer: "source",
	}, func(registry.Row) error { return nil })
}

func newBench(t *testing.T) *bench {
	t.Helper()
	live, err := config.Open(filepath.Join(t.TempDir(), "none.toml"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r, err := registry.Open(registry.Options{
		Store: memory{}, Limit: func() int64 { return 10 },
		Serves: func(scope.Path) bool { return true },
		Grace:  func() registry.Grace { return registry.Grace{Owner: time.Hour, Stop: time.Second} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Shutdown(context.Background(), false); _ = r.Close() })
	s := &source{registry: r}
	r.AddProducer("source", s)
	h, err := r.Register(registry.Registration{Token: strings.Repeat("a", 32), Session: "s", Scope: "/"}, &host{})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{New(Options{Registry: r, Live: live, Commands: s}), t, registry.AsOwner(h), s}
}

func (b *bench) start(limit any) string {
	b.t.Helper()
	task, err := b.source.Start(context.Background(), b.owner, Command{Label: "sleep 60", OutputLimit: limit})
	if err != nil {
		b.t.Fatal(err)
	}
	return task.ID
}

// call runs a tool and settles its receipts as delivered.
func (b *bench) call(ctx context.Context, c Call) Result {
	b.t.Helper()
	c.Caller = b.owner
	result := b.Call(ctx, c)
	for _, receipt := range result.Receipts {
		receipt.Delivered()
	}
	return result
}

func (b *bench) text(name, arguments string) string {
	b.t.Helper()
	return only(b.t, b.call(context.Background(), Call{Name: name, Arguments: json.RawMessage(arguments)}))
}

func only(t *testing.T, r Result) string {
	t.Helper()
	if len(r.Content) != 1 || r.Content[0].Type != "text" || r.IsError != strings.HasPrefix(r.Content[0].Text, "Error: ") && r.Err == nil {
		t.Fatalf("result %+v", r)
	}
	return r.Content[0].Text
}

// answers is a policy of functions; a nil one accepts.
type answers struct {
	pre  func(PreRequest) (PreAnswer, error)
	post func(PostRequest) (PostAnswer, error)
}

func (a answers) Pre(_ context.Context, r PreRequest) (PreAnswer, error) {
	if a.pre == nil {
		return PreAnswer{Decision: "allow"}, nil
	}
	return a.pre(r)
}

func (a answers) Post(_ context.Context, r PostRequest) (PostAnswer, error) {
	if a.post == nil {
		return PostAnswer{Decision: "accept"}, nil
	}
	return a.post(r)
}

func (b *bench) attach(a answers) {
	b.t.Helper()
	b.t.Cleanup(b.Attach(a, Attachment{Scope: "/", Before: true, After: true, Timeout: 30 * time.Second}))
}

// TestAborted pins T123, T147: a call that is aborted before it began asks
// nobody and reads nothing, and is bounded all the same.
func TestAborted(t *testing.T) {
	b := newBench(t)
	id := b.start(json.RawMessage("30"))
	b.source.text = "x"
	b.attach(answers{pre: func(PreRequest) (PreAnswer, error) { t.Error("a policy was asked"); return PreAnswer{}, nil }})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	result := b.call(ctx, Call{Name: Output, Arguments: json.RawMessage(`{"task_id":"` + id + `"}`)})
	if got := only(t, result); got != "re dispatch\n[result truncated]" || !errors.Is(result.Err, registry.ErrWaitAborted) {
		t.Errorf("got %q, %v", got, result.Err)
	}
}

// TestWaitsIsAsked pins T36, T122 (a read without wait never blocks): a call says that it may take long before it does, and ends
// when it may not; one that cannot wait does not ask.
func TestWaitsIsAsked(t *testing.T) {
	b := newBench(t)
	id := b.start(nil)
	refused := errors.New("too many open calls")
	asked := 0
	waits := func() error { asked++; return refused }
	for arguments, want := range map[string]string{
		`{"task_id":"` + id + `"}`:                             "(no new output)\n[status: running]",
		`{"task_id":"` + id + `","wait":true}`:                 "Error: too many open calls",
		`{"task_id":"` + id + `","wait":true,"timeout_ms":-1}`: "Error: invalid wait timeout: expected a positive number of milliseconds, got -1",
		`{"task_id":"nope","wait":true}`:                       "Error: unknown task nope",
	} {
		if got := only(t, b.call(context.Background(), Call{Name: Output, Arguments: json.RawMessage(arguments), Waits: waits})); got != want {
			t.Errorf("%s: %q, want %q", arguments, got, want)
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

// TestTimedOutWaitReads pins T122: after the wait there is always one read, and
// the shortest of the times counts.
func TestTimedOutWaitReads(t *testing.T) {
	b := newBench(t)
	id := b.start(nil)
	for name, c := range map[string]Call{
		"the model's":       {Arguments: json.RawMessage(`{"task_id":"` + id + `","wait":true,"timeout_ms":1,"from":"start"}`)},
		"the agent's":       {Arguments: json.RawMessage(`{"task_id":"` + id + `","wait":true,"from":"start"}`), MaxWait: time.Millisecond},
		"the smaller one's": {Arguments: json.RawMessage(`{"task_id":"` + id + `","wait":true,"timeout_ms":1e400,"from":"start"}`), MaxWait: time.Millisecond},
	} {
		b.source.text = "x"
		c.Name = Output
		if got := only(t, b.call(context.Background(), c)); got != "x\n[status: running]" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestCapIsLookedUpFirst pins T145, T146: the cap holds for a denial even when
// the task is gone by the end; it is looked up again only where there was none.
func TestCapIsLookedUpFirst(t *testing.T) {
	long := strings.Repeat("d", 100)
	t.Run("gone by the end", func(t *testing.T) {
		b := newBench(t)
		id := b.start(json.RawMessage("30"))
		h, _ := b.owner.Owner()
		b.attach(answers{pre: func(r PreRequest) (PreAnswer, error) {
			if r.Task == nil || r.Task.ID != id {
				t.Errorf("asked about %+v", r.Task)
			}
			row := b.registry.List(registry.AsOperator(), true)[0].Row
			b.registry.Settle(row, registry.Outcome{Status: registry.Completed})
			if _, err := b.registry.Dispose(context.Background(), h, "test"); err != nil {
				t.Error(err)
			}
			return PreAnswer{Decision: "deny", Reason: long}, nil
		}})
		if got, want := b.text(Output, `{"task_id":"`+id+`"}`), long[:11]+"\n[result truncated]"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("found at the end", func(t *testing.T) {
		b := newBench(t)
		b.attach(answers{pre: func(PreRequest) (PreAnswer, error) {
			b.start(json.RawMessage("30"))
			return PreAnswer{Decision: "deny", Reason: long}, nil
		}})
		if got, want := b.text(Output, `{"task_id":"bash-1"}`), long[:11]+"\n[result truncated]"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("never", func(t *testing.T) {
		b := newBench(t)
		b.start(json.RawMessage("30"))
		b.attach(answers{pre: func(PreRequest) (PreAnswer, error) { return PreAnswer{Decision: "deny", Reason: long}, nil }})
		for _, arguments := range []string{`{}`, `{"task_id":""}`, `{"task_id":7}`, `{"task_id":"BASH-1"}`, `null`} {
			if got := b.text(Output, arguments); got != "Error: "+long {
				t.Errorf("%s: %q", arguments, got)
			}
		}
	})
}

// TestSameTextIsNoReplacement pins T152: the default rendering given back is
// still the default rendering.
func TestSameTextIsNoReplacement(t *testing.T) {
	b := newBench(t)
	id := b.start(json.RawMessage("50"))
	b.source.text = strings.Repeat("x", 100)
	b.attach(answers{post: func(r PostRequest) (PostAnswer, error) {
		return PostAnswer{Decision: "accept", Content: r.Result.Content}, nil
	}})
	if got, want := b.text(Output, `{"task_id":"`+id+`"}`), strings.Repeat("x", 13)+"\n[output truncated]\n[status: running]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOrder pins T147 to T149: pre, body, post; a denial goes through post, an
// error of a policy's own does not.
func TestOrder(t *testing.T) {
	b := newBench(t)
	id := b.start(nil)
	var seen []string
	pre := PreAnswer{Decision: "allow"}
	var fails error
	b.attach(answers{
		pre: func(PreRequest) (PreAnswer, error) { seen = append(seen, "pre"); return pre, fails },
		post: func(r PostRequest) (PostAnswer, error) {
			seen = append(seen, "post "+r.Result.Content[0].Text)
			return PostAnswer{Decision: "accept"}, nil
		},
	})
	for _, step := range []struct {
		answer PreAnswer
		err    error
		want   string
	}{
		{PreAnswer{Decision: "allow"}, nil, "pre, post (no new output)\n[status: running]"},
		{PreAnswer{Decision: "deny", Reason: "no"}, nil, "pre, post Error: no"},
		{PreAnswer{}, &PolicyError{"mine"}, "pre"},
		{PreAnswer{}, errors.New("gone"), "pre, post Error: the policy at / cannot be asked (gone): the call is denied"},
	} {
		seen, pre, fails = nil, step.answer, step.err
		b.text(Output, `{"task_id":"`+id+`"}`)
		if got := strings.Join(seen, ", "); got != step.want {
			t.Errorf("got %q, want %q", got, step.want)
		}
	}
}

// TestArguments pins T117: what counts as no arguments and what as bad ones.
func TestArguments(t *testing.T) {
	b := newBench(t)
	for arguments, want := range map[string]string{
		"": "(no background tasks)", `""`: "(no background tasks)", "{}": "(no background tasks)", `{"x":1}`: "(no background tasks)",
		"null": `Error: invalid arguments: "arguments" must be an object`, "[]": `Error: invalid arguments: "arguments" must be an object`,
		`"{}"`: `Error: invalid arguments: "arguments" must be an object`, "3": `Error: invalid arguments: "arguments" must be an object`,
	} {
		if got := b.text(List, arguments); got != want {
			t.Errorf("%q: %q, want %q", arguments, got, want)
		}
	}
}
